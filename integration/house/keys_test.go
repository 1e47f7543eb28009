package house

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/detent-ml/detent/integration/house/effects"
	"github.com/detent-ml/detent/master/server"
)

// The tests that see that keys reach the part with the effect, for rows that name the tests of the part beside them.
const (
	reach      = "master/server TestKeysReachTheirParts, "
	reachPool  = "master/server TestKeysOfPoolsReachThem, "
	reachOther = "master/server TestKeysOfVaultAndProvidersReachThem, "
	reachAuto  = "master/server TestMachinesThatComeAndGo, "
	reachSched = "master/server TestSchedulers, "
)

// keyEffects has a row for each key of the master's configuration.
var keyEffects = []effects.Row{
	{"listen database", "master TestContextsDoNotFillTheMemory"},
	{"database_conns", "master/server TestConnectionsToTheDatabase"},
	{"public_url", reach + "master/api TestMasterAndInfo TestSignInWithAProvider"},
	{"task_urls", reach + "master/task TestMastersForRegions"},
	{"tasks_listen", "master/server TestWherePagesOfTasksAre, integration/clients TestABrowserInANotebook"},
	{"tasks_url", reach + "master/api TestABrowserVisitsANotebook"},
	{"tasks_domain", reach + "master/api TestADomainForTasks, integration/clients TestTraefikLeadsToTasks"},
	{"ingress.kind", reach + "master/api TestAnIngress, integration/clients TestTraefikLeadsToTasks"},
	{"ingress.auth_url ingress.certificate_resolver ingress.transport", "master/server TestIngressOfTheConfiguration, master/task TestIngressOfAJob"},
	{"ingress.entrypoints", "integration/clients TestTraefikLeadsToTasks"},
	{"unauthenticated_ports", reach + "master/proxy TestServiceOf, master/api TestPortsForEverybody"},
	{"cluster_name", reach + "master/api TestMasterAndInfo"},
	{"service_name", reach + "integration/security TestGuardedCluster"},
	{"log_level", "master/server TestTheFirstLevelOfTheLog"},
	{"tls.cert_file tls.key_file tls.ca_file", "master/server TestTLSOfTheMaster TestACertificateIsRenewed, integration/security TestTLS"},
	{"blank_passwords", reach + "master/api TestBlankPasswordsAreLocal"},
	{"tokens.max_days tokens.default_days", reach + "master/accounts TestLifespans"},
	{"identity_providers.name identity_providers.issuer identity_providers.client_id identity_providers.client_secret", reachOther + "master/api TestSignInWithAProvider, integration/security TestSignInOfTools"},
	{"identity_providers.client_secret_file identity_providers.scopes identity_providers.username_claim identity_providers.display_name_claim", reachOther + "master/api TestSignInWithAProvider"},
	{"identity_providers.groups_claim identity_providers.sync_groups", "master/server TestKeysOfDetermined, master/api TestGroupsOfAProvider, integration/security TestAGroupTakenAwayWithoutSCIM"},
	{"identity_providers.group_prefix identity_providers.group_names", "master/server TestKeysOfDetermined, master/oidc TestGroupsHere"},
	{"identity_providers.admin_groups", reachOther + "master/api TestAProviderDecidesWhoIsAdmin"},
	{"identity_providers.known_users_only", reachOther + "master/api TestSCIMAndSignIn"},
	{"identity_providers.always_redirect identity_providers.session_hours", reachOther + "master/api TestProvidersDiffer"},
	{"identity_providers.recheck", "master/server TestRecheckOfProviders, master/oidc TestRecheck, integration/security TestAGroupTakenAwayAtTheProvider"},
	{"identity_providers.offline_access", reachOther + "master/oidc TestOfflineAccess"},
	{"identity_providers.idp_sso_url identity_providers.authentication_claim identity_providers.display_name_attribute_name identity_providers.groups_attribute_name identity_providers.auto_provision_users", "master/server TestKeysOfDetermined"},
	{"plain_http_sign_in", "master/server TestSignInOverPlainHTTP"},
	{"job_sign_in.namespace job_sign_in.job job_sign_in.user", reach + "master/api TestJobsSignIn, integration/security TestSignInOfTools"},
	{"scim.enabled scim.auth.type scim.auth.token scim.auth.username scim.auth.password", "master/server TestSCIMSecrets, master/api TestSCIMUsers TestSCIMConformance"},
	{"scim.auth.token_file scim.auth.password_file", reach + "master/api TestSCIMUsers"},
	{"audit.keep_days", "master/server TestHowLongTheAuditTrailIsKept"},
	{"security.authz.type", reach + "integration/guides TestAccessGuide, integration/storage TestTwoTeams"},
	{"shared_raw_exec", "master/server TestRawExecIsForOneMachine"},
	{"hosts", reach + "master/api TestOtherNamesAreRefused"},
	{"trusted_proxies", reach + "master/server TestSharesOfConnections, master/api TestAddressesBehindAProxy"},
	{"connections.max connections.max_per_address", "master/server TestSlowClientsKeepNobodyOut TestSharesOfConnections"},
	{"initial_password", "master/server TestAMasterSetsTheInitialPassword, integration/guides TestAccessGuide"},
	{"checkpoint_roots", reach + "master/api TestTheMasterReadsBelowItsRoots"},
	{"checkpoint_endpoints", "master/server TestWhatTheMasterReads TestWhatTheMasterReadsInAzure"},
	{"files_through_master", reach + "integration/mlflow TestFilesInParts"},
	{"search_memory_mb", reach + "master/control TestMoreSearchesThanFit"},
	{"queue_recording.days", reach + "master/control TestOldFramesExpire TestRecordedPlansAreMadeAgain"},
	{"queue_recording.max_mb", reach + "master/control TestOldFramesExpire"},
	{"database_limits.user_mb", reach + "master/api TestStoringTooMuch"},
	{"database_limits.task_log_mb", reach + "master/logs TestFullLog"},
	{"database_limits.trial_metrics_mb", reach + "master/metrics TestFullTrial"},
	{"spool.folder", reach + "master/server TestASpoolInMemoryIsWarnedAbout"},
	{"spool.max_mb", reach + "master/api TestBodiesLargerThanTheirShareOfTheDisk"},
	{"nomad.address nomad.token", "integration/security TestTLS"},
	{"nomad.ui nomad.regions.ui", reach + "master/attempts TestNomadPages"},
	{"nomad.token_file", "integration/security TestGuardedCluster"},
	{"nomad.without_acl", "master/server TestAMasterForOthersNeedsAccessControl"},
	{"nomad.region nomad.regions.name nomad.regions.address", "master/server TestRegionsOfPools, integration/faults TestTwoRegions"},
	{"nomad.regions.token nomad.regions.token_file nomad.regions.ca_file nomad.regions.cert_file nomad.regions.key_file", "master/server TestHowTheMasterReachesServers"},
	{"nomad.regions.datacenters", "master/server TestRegionsOfPools"},
	{"nomad.regions.consul_datacenter", "master/server TestAMasterForOthersNeedsAccessControlInConsul"},
	{"nomad.namespace nomad.datacenters", reach + "jobspecs TestRender"},
	{"nomad.ca_file", "integration/security TestTLS"},
	{"nomad.cert_file nomad.key_file", "master/server TestHowTheMasterReachesServers"},
	{"consul.address", reach + "master/server TestAMasterForOthersNeedsAccessControlInConsul, integration/faults TestConsulIsAway"},
	{"consul.token consul.token_file consul.ca_file", "master/server TestHowTheMasterReachesServers"},
	{"consul.without_acl", "master/server TestAMasterForOthersNeedsAccessControlInConsul"},
	{"vault.address vault.task_role", reachOther + "integration/storage TestCheckpointsInS3"},
	{"vault.jwt_file", "integration/storage TestCheckpointsInS3"},
	{"vault.namespace", reachOther + "jobspecs TestRender"},
	{"vault.ca_file vault.token vault.token_file", "master/server TestHowTheMasterReachesServers"},
	{"vault.auth_path vault.auth_role", reachOther + "master/secrets TestRolesComeAndGo"},
	{"vault.aws_path vault.role_arn vault.ttl", reachOther + "master/secrets TestRolesComeAndGo"},
	{"vault.reader_role", reachOther + "master/secrets TestPolicyOfTheMaster"},
	{"vault.gcs_path vault.azure_path", "master/server TestHowTasksSignIn, integration/storage TestCheckpointsInOtherClouds"},
	{"vault.remove_entities", reachOther + "master/secrets TestEntitiesGoWithTheirJobs"},
	{"vault.secrets.name vault.secrets.path vault.secrets.keys vault.secrets.workspaces vault.secrets.users", "master/server TestSecretsThatUsersMountInTheConfiguration, master/task TestWhoMayMountASecret, integration/storage TestSecretsOfUsers"},
	{"resource_pools.name resource_pools.description", reachPool + "master/api TestAgentsPoolsAndJobs"},
	{"resource_pools.job", "master/server TestPoolJobsOutliveNomad, integration/containers TestPoolJobs"},
	{"resource_pools.region", "master/server TestRegionsOfPools, integration/faults TestTwoRegions"},
	{"resource_pools.node_pool", reachPool + "integration/experiments TestAutoscaler"},
	{"resource_pools.driver", reachPool + "jobspecs TestRender, integration/containers TestTasksInContainers"},
	{"resource_pools.network_mode", "master/server TestNetworksOfPools, jobspecs TestNetworks, integration/containers TestTasksOnBridges"},
	{"resource_pools.slots resource_pools.device", reachPool + "master/cluster TestDevices, integration/experiments TestGPUs"},
	{"resource_pools.cores_per_slot resource_pools.memory_mb_per_slot resource_pools.max_slots_per_node resource_pools.slots_per_node", reachPool + "master/cluster TestSlotsOfCPU"},
	{"resource_pools.max_aux_containers_per_agent", reachPool + "master/sched TestPlan"},
	{"resource_pools.aux_memory_mb", reachPool + "master/task TestMemoryOfTasks"},
	{"resource_pools.python python", reach + "master/server TestPythonOfPools, plugins/runner TestThePoolsPython"},
	{"resource_pools.homes", reachPool + "master/task TestHomes, integration/containers TestTasksInContainers"},
	{"resource_pools.single_node", reachPool + "master/sched TestAPoolOfSingleNodes"},
	{"resource_pools.max_runtime", reachPool + "master/control TestMaxRuntimeOfAPool"},
	{"resource_pools.preemption resource_pools.scheduler.preemption", reachSched + "master/sched TestPlan TestPreemptingGains"},
	{"resource_pools.default_priority resource_pools.scheduler.default_priority", reachSched + "master/launch TestAnExperimentIsMade"},
	{"resource_pools.scheduler.type", reachSched + "master/sched TestPlan TestTurns"},
	{"resource_pools.scheduler.fitting_policy resource_pools.scheduler.workspace_weights resource_pools.scheduler.user_weights resource_pools.scheduler.min_run_time", reachSched + "master/sched TestPlan"},
	{"resource_pools.scheduler.half_life", reachSched + "master/sched TestPlan, master/control TestFairShareRemembers"},
	{"resource_pools.scheduler.equal_parts", reachPool + "master/sched TestPlan"},
	{"resource_pools.scheduler.rack", reachSched + "master/sched TestFewRacks"},
	{"resource_pools.spot", reachAuto + "master/control TestASpotMachineIsGone"},
	{"resource_pools.trusted_network", reachPool + "master/task TestATrustedNetwork, plugins/harness/tests test_two_slots_train_one_model"},
	{"resource_pools.aux_on_spot", reachPool + "master/launch TestPoolsOfSpotMachines"},
	{"resource_pools.max_idle_agent_period", reachAuto + "master/control TestDemand, integration/experiments TestAutoscaler"},
	{"resource_pools.node_classes.class resource_pools.node_classes.slots resource_pools.node_classes.model resource_pools.node_classes.device resource_pools.node_classes.attributes resource_pools.node_classes.max", reachPool + "master/server TestMachinesThatComeAndGo, master/control TestDemandOfClasses"},
	{"resource_pools.pod_labels.label resource_pools.pod_labels.value resource_pools.pod_labels.gpu resource_pools.pod_labels.attribute resource_pools.pod_labels.is resource_pools.pod_limits.name resource_pools.pod_limits.devices", reachPool + "master/server TestPodTables, master/expconf TestPodSpec"},
	{"resource_pools.task_container_defaults", "master/server TestContainersOfTrials, integration/containers TestTasksInContainers"},
	{"resource_pools.docker.allowed_host_paths resource_pools.docker.allowed_devices resource_pools.docker.allowed_capabilities", reachPool + "master/server TestLimitsOfPools, master/expconf TestContainerLimits"},
	{"resource_pools.docker.user resource_pools.docker.hard_memory_limit", "master/server TestContainersOfTrials, integration/containers TestTasksInContainers"},
	{"resource_pools.docker.registry_auth.nomad_variable", effects.Refused + "master/server TestDockerProblems"},
	{"resource_pools.docker.registry_auth.vault_path resource_pools.docker.registry_auth.vault_engine resource_pools.docker.registry_auth.vault_role resource_pools.docker.registry_auth.server", reachPool + "jobspecs TestTheRegistryOfAnImage, master/task TestCredentialsStayWithTheirRegistry"},
	{"resource_pools.docker.cloud_metadata", reachPool + "integration/containers TestTasksOnBridges"},
	{"web_identity.role_arn web_identity.audience web_identity.sts_endpoint", reach + "master/task TestCredentialsInAJob, integration/storage TestCheckpointsInS3"},
	{"retention_policy.log_retention_days", reach + "master/api TestRetentionOfLogs"},
	{"retention_policy.schedule", reach + "master/control TestLogsAreDeletedInTurns"},
	{"log_sinks.name log_sinks.lines log_sinks.address", "master/server TestLogSinks, master/logs/sink TestNothingIsLost TestLinesOfMasters TestSyslogByDatagramAndTLS"},
	{"log_sinks.token log_sinks.token_file log_sinks.headers_file", "master/server TestLogSinks, master/logs/sink TestHeaders"},
	{"log_sinks.ca_file log_sinks.cert_file log_sinks.key_file", "master/server TestLogSinks, master/logs/sink TestSyslogByDatagramAndTLS TestSettings"},
	{"webhooks.base_url", reach + "master/webhook/event TestBodies"},
	{"webhooks.signing_key", reach + "integration/experiments TestWebhooks"},
	{"webhooks.allow", reach + "master/webhook/sender TestNothingInside, integration/experiments TestWebhooks"},
	{"s3_region", reach + "master/task TestCredentialsInAJob"},
	{"default_compute_resource_pool default_aux_resource_pool", reach + "master/pool TestSetFindsPools"},
	{"checkpoint_sweep", reach + "master/control TestSweepsOfEndedExperiments TestWhichStoragesAreSwept"},
	{"checkpoint_storage", reach + "master/api TestCreateExperiment, integration/experiments TestFromCreateToBestCheckpoint"},
	{"task_container_defaults", reach + "master/server TestContainersOfTrials, plugins/runner TestTheClustersHook"},
	{"runner_path", reach + "master/server TestRunnersBesideTheMasters"},
	{"det_path harness_path", reach + "master/artifacts TestArtifacts"},
	{"stop_after", reach + "jobspecs TestRender, master/lifecycle TestAdvance"},
	{"place_timeout", reach + "master/lifecycle TestAdvance"},
	{"pull_timeout", reach + "master/lifecycle TestAdvance"},
	{"avoid_node_after", "master/server TestSettingsOfFaults, master/control TestAnotherAvoidAfter"},
	{"launch_error", reach + "master/api TestMoreSlotsThanThereAre, master/control TestNoNodeIsLeft"},
	{"notebook_timeout tensorboard_timeout", "master/server TestSettingsOfInteractiveTasks, master/api TestLaunchingNotebooks TestTensorboards"},
}

// TestKeysHaveEffects: each key of the master's configuration has a test that sees its effect.
func TestKeysHaveEffects(t *testing.T) {
	effects.Check(t, filepath.Join("..", ".."), keysOf("", reflect.TypeFor[server.Config]()), keyEffects)
}

// keysOf are the keys below a section, with dots; the sections of a list have no number.
func keysOf(at string, section reflect.Type) (keys []string) {
	for i := range section.NumField() {
		key, of := at+section.Field(i).Tag.Get("yaml"), section.Field(i).Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			keys = append(keys, key)
			continue
		}
		keys = slices.Concat(keys, keysOf(key+".", of))
	}
	return keys
}
