// Package determined knows the keys of the master.yaml of Determined 0.38 and of its public fork up to 0.42 that mean nothing to this
// master, and says of each which key has its effect here. It is pure.
package determined

import (
	"regexp"
	"strings"
)

var indexes = regexp.MustCompile(`\[\d+\]`)

// Hint says what Detent has in place of the key at a path such as resource_pools[0].pool_name. theirs reports whether Determined has the key.
func Hint(path string) (hint string, theirs bool) {
	ours, theirs := keys[indexes.ReplaceAllString(path, "")]
	if !theirs {
		return "", false
	}
	if why, none := strings.CutPrefix(ours, nothing); none {
		return "; this is a key of Determined and has no meaning here: " + why, true
	}
	return "; this is a key of Determined, for which Detent has " + ours, true
}

// Idle reports whether Detent has nothing in place of the key of Determined at a path, and why it needs nothing.
func Idle(path string) (why string, idle bool) {
	return strings.CutPrefix(keys[indexes.ReplaceAllString(path, "")], nothing)
}

// Ours is what Detent has in place of the key of Determined at a path; "" if it has nothing, or Determined has no such key.
func Ours(path string) string {
	if _, idle := Idle(path); idle {
		return ""
	}
	return keys[indexes.ReplaceAllString(path, "")]
}

// Splits reports whether the keys in the section at a path have counterparts of their own, so that each of them is worth a message.
func Splits(path string) bool { return sections[indexes.ReplaceAllString(path, "")] }

const nothing = "nothing: "

// sections are the sections whose keys have lines of their own below.
var sections = map[string]bool{
	"db": true, "log": true, "logging": true, "oidc": true, "telemetry": true, "observability": true, "resource_manager": true,
	"security.tls": true, "security.token": true, "security.csrf": true, "resource_manager.scheduler": true, "resource_pools.provider": true,
	"shell_terminal": true, "resource_manager.slot_resource_requests": true,
}

const (
	ofKubernetes = nothing + "it was for Kubernetes, and Nomad runs the tasks"
	ofSlurm      = nothing + "it was for the launcher of Slurm and PBS, and Nomad runs the tasks"
	ofClouds     = nothing + "it describes the machines that Determined starts in a cloud; the target of Nomad's autoscaler has this (docs/operate/autoscaling.md)"
	ofAgents     = nothing + "Determined's agents do not exist here; clients of Nomad have TLS of their own"
	ofAccounts   = nothing + "det user link-with-agent-user links users with accounts of nodes"
	terminals    = nothing + "terminals of shells in the pages have no settings; they end with the session of their user"
)

// keys has a line for each key that this master does not have, by its path without the numbers in lists.
var keys = map[string]string{
	"config_file":      "the flag --config of det-master",
	"port":             "listen: host:port",
	"root":             nothing + "the pages are in det-master",
	"enable_cors":      nothing + "pages of other origins may not call the API",
	"cache":            nothing + "code and files are in PostgreSQL",
	"feature_switches": nothing + "no part is hidden behind a switch",
	"ui_customization": nothing + "the pages have no logo of a site",
	"integrations":     nothing + "Detent does not know Pachyderm",
	"saml":             nothing + "identity_providers sign users in by OpenID Connect, also for a broker that speaks SAML",
	"reserved_ports":   nothing + "Nomad gives each task its ports",
	"hpimportance":     nothing + "the pages compute the importance of hyperparameters",
	"internal":         nothing + "it was for Determined's own cloud",
	"det_cloud":        nothing + "it was for Determined's own cloud",
	"__internal":       nothing + "it was for Determined's own tests",
	"genai":            nothing + "it was for another product",
	"deployment_type":  nothing + "it was for Determined's own cloud",
	"data_path":        nothing + "code and files are in PostgreSQL",

	"db":                    "database: postgres://user:password@host:5432/name",
	"db.host":               "the host in database: postgres://user:password@host:5432/name",
	"db.port":               "the port in database: postgres://user:password@host:5432/name",
	"db.name":               "the name at the end of database: postgres://user:password@host:5432/name. Use a new database; det-master import reads the old one",
	"db.user":               "the user in database: postgres://user:password@host:5432/name",
	"db.password":           "the password in database: postgres://user:password@host:5432/name",
	"db.ssl_mode":           "sslmode in database: postgres://…/name?sslmode=require",
	"db.ssl_root_cert":      "sslrootcert in database: postgres://…/name?sslmode=verify-full&sslrootcert=/path",
	"db.migrations":         nothing + "the migrations are in det-master",
	"db.views_and_triggers": nothing + "the migrations are in det-master",

	"log":       "log_level",
	"log.level": "log_level",
	"log.color": nothing + "lines of the master have no colors",

	"logging":          "log_sinks, for copies of log lines in OTLP or syslog; det and the API read the lines in PostgreSQL",
	"logging.type":     "log_sinks, for copies of log lines in OTLP or syslog; det and the API read the lines in PostgreSQL",
	"logging.host":     "log_sinks[].address: Elasticsearch receives lines through a collector that speaks OTLP or syslog",
	"logging.port":     "log_sinks[].address",
	"logging.security": "log_sinks[].token_file, headers_file, ca_file, cert_file and key_file",

	"telemetry":                    nothing + "Detent sends no telemetry",
	"telemetry.enabled":            nothing + "Detent sends no telemetry",
	"telemetry.segment_master_key": nothing + "Detent sends no telemetry",
	"telemetry.segment_webui_key":  nothing + "Detent sends no telemetry",
	"telemetry.cluster_id":         nothing + "Detent sends no telemetry",
	"telemetry.otel_enabled":       nothing + "the master sends no traces; log_sinks sends log lines by OTLP, and /metrics is always available",
	"telemetry.otel_endpoint":      nothing + "the master sends no traces; log_sinks sends log lines by OTLP, and /metrics is always available",

	"observability":                   nothing + "/metrics is always available",
	"observability.enable_prometheus": nothing + "/metrics is always available",

	"oidc":                                 "identity_providers",
	"oidc.enabled":                         "an entry in identity_providers",
	"oidc.provider":                        "identity_providers[].name",
	"oidc.client_id":                       "identity_providers[].client_id",
	"oidc.client_secret":                   "identity_providers[].client_secret or client_secret_file",
	"oidc.idp_recipient_url":               nothing + "the provider must allow the redirect address <public_url>/oidc/callback",
	"oidc.idp_sso_url":                     "identity_providers[].issuer (idp_sso_url works there too)",
	"oidc.authentication_claim":            "identity_providers[].username_claim (authentication_claim works there too); Determined's default is email, Detent's preferred_username",
	"oidc.scim_authentication_attribute":   nothing + "users of SCIM sign in by their username",
	"oidc.auto_provision_users":            "the opposite, identity_providers[].known_users_only (auto_provision_users works there too)",
	"oidc.groups_attribute_name":           "identity_providers[].groups_claim with sync_groups (groups_attribute_name works there too)",
	"oidc.display_name_attribute_name":     "identity_providers[].display_name_claim (display_name_attribute_name works there too)",
	"oidc.agent_uid_attribute_name":        ofAccounts,
	"oidc.agent_gid_attribute_name":        ofAccounts,
	"oidc.agent_user_name_attribute_name":  ofAccounts,
	"oidc.agent_group_name_attribute_name": ofAccounts,
	"oidc.always_redirect":                 "identity_providers[].always_redirect",
	"oidc.exclude_groups_scope":            "identity_providers[].scopes",

	"security.initial_user_password":               "initial_password",
	"security.tls":                                 "tls.cert_file and tls.key_file",
	"security.tls.cert":                            "tls.cert_file",
	"security.tls.key":                             "tls.key_file",
	"security.default_task":                        nothing + "det user link-with-agent-user links users with accounts of nodes, and docker.user of a pool is for the others",
	"security.ssh":                                 nothing + "shells have Ed25519 keys",
	"security.rsa_key_size":                        nothing + "shells have Ed25519 keys",
	"security.token":                               "tokens.max_days and tokens.default_days",
	"security.token.max_lifespan_days":             "tokens.max_days",
	"security.token.default_lifespan_days":         "tokens.default_days",
	"security.kerberos":                            nothing + "Hadoop's storage is not supported",
	"security.trusted_proxies":                     "trusted_proxies, at the top level",
	"security.session_cookie":                      nothing + "the cookie of a session is secure where public_url begins with https",
	"security.csrf":                                nothing + "the master compares the origin of requests with its own hosts",
	"security.csrf.trusted_origins":                "hosts, for further names of the master itself; pages of other origins may not call it",
	"security.authz.rbac_ui_enabled":               nothing + "the pages show roles where type is rbac",
	"security.authz.fallback":                      nothing + "there is no other way to decide",
	"security.authz._strict_ntsc_enabled":          nothing + "only the owner may open a notebook or a shell",
	"security.authz._strict_job_queue_control":     nothing + "roles decide who may change the queue (docs/operate/access.md)",
	"security.authz.strict_job_queue_control":      nothing + "roles decide who may change the queue (docs/operate/access.md)",
	"security.authz.workspace_creator_assign_role": nothing + "with roles, who creates a workspace becomes its WorkspaceAdmin",

	"resource_manager":                                    "nomad, resource_pools",
	"resource_manager.type":                               nothing + "Nomad runs the tasks: nomad has its address",
	"resource_manager.cluster_name":                       "cluster_name, or nomad.regions for several clusters",
	"resource_manager.name":                               "cluster_name, or nomad.regions for several clusters",
	"resource_manager.metadata":                           nothing + "Nomad's datacenters and regions say where nodes are",
	"resource_manager.scheduler":                          "scheduler in each of resource_pools",
	"resource_manager.scheduler.type":                     "resource_pools[].scheduler.type",
	"resource_manager.scheduler.priority":                 "resource_pools[].scheduler",
	"resource_manager.scheduler.fair_share":               "resource_pools[].scheduler.type",
	"resource_manager.scheduler.round_robin":              "resource_pools[].scheduler.type",
	"resource_manager.scheduler.preemption":               "resource_pools[].scheduler.preemption",
	"resource_manager.scheduler.default_priority":         "resource_pools[].scheduler.default_priority",
	"resource_manager.scheduler.fitting_policy":           "resource_pools[].scheduler.fitting_policy",
	"resource_manager.scheduler.allow_heterogeneous_fits": "the opposite, resource_pools[].scheduler.equal_parts",
	"resource_manager.scheduler.numa_packing":             nothing + "devices of one link group are chosen together (docs/scheduling.md)",
	"resource_manager.default_aux_resource_pool":          "default_aux_resource_pool, at the top level",
	"resource_manager.default_compute_resource_pool":      "default_compute_resource_pool, at the top level",
	"resource_manager.default_cpu_resource_pool":          "default_aux_resource_pool, at the top level",
	"resource_manager.default_gpu_resource_pool":          "default_compute_resource_pool, at the top level",
	"resource_manager.no_default_resource_pools":          nothing + "the first pool is the default one",
	"resource_manager.require_authentication":             ofAgents,
	"resource_manager.client_ca":                          ofAgents,
	"resource_manager.namespace":                          "nomad.namespace, or the namespace of a pool's job",
	"resource_manager.default_namespace":                  "nomad.namespace, or the namespace of a pool's job",
	"resource_manager.max_slots_per_pod":                  "resource_pools[].max_slots_per_node",
	"resource_manager.slot_type":                          "resource_pools[].slots: cpu, or slots: device with device: nvidia/gpu",
	"resource_manager.slot_resource_requests":             "resource_pools[].cores_per_slot",
	"resource_manager.slot_resource_requests.cpu":         "resource_pools[].cores_per_slot",
	"resource_manager.master_service_name":                "service_name",
	"resource_manager.leave_kubernetes_resources":         ofKubernetes,
	"resource_manager.default_scheduler":                  "resource_pools[].scheduler",
	"resource_manager.fluent":                             ofKubernetes,
	"resource_manager.kubeconfig_path":                    ofKubernetes,
	"resource_manager.determined_master_scheme":           "task_urls",
	"resource_manager.determined_master_host":             "task_urls",
	"resource_manager.determined_master_ip":               "task_urls",
	"resource_manager.determined_master_port":             "task_urls",
	"resource_manager.internal_task_gateway":              nothing + "the master reaches tasks in every region itself",
	"resource_manager.master_host":                        "task_urls",
	"resource_manager.master_port":                        "task_urls",
	"resource_manager.host":                               "nomad.address",
	"resource_manager.port":                               "nomad.address",
	"resource_manager.protocol":                           "nomad.address",
	"resource_manager.security":                           "nomad.ca_file, cert_file and key_file",
	"resource_manager.container_run_type":                 "resource_pools[].driver: docker, podman, exec or raw_exec",
	"resource_manager.auth_file":                          "nomad.token_file",
	"resource_manager.rendezvous_network_interface":       "task_container_defaults.dtrain_network_interface",
	"resource_manager.proxy_network_interface":            nothing + "Nomad chooses the network of tasks (docs/operate/pools.md)",
	"resource_manager.user_name":                          ofSlurm,
	"resource_manager.group_name":                         ofSlurm,
	"resource_manager.sudo_authorized":                    ofSlurm,
	"resource_manager.apptainer_image_root":               ofSlurm,
	"resource_manager.singularity_image_root":             ofSlurm,
	"resource_manager.job_storage_root":                   ofSlurm,
	"resource_manager.path":                               ofSlurm,
	"resource_manager.ld_library_path":                    ofSlurm,
	"resource_manager.launcher_jvm_args":                  ofSlurm,
	"resource_manager.tres_supported":                     ofSlurm,
	"resource_manager.gres_supported":                     ofSlurm,
	"resource_manager.partition_overrides":                "resource_pools, one for each partition",
	"resource_manager.job_project_source":                 ofSlurm,
	"additional_resource_managers":                        "resource_pools with region, and nomad.regions",

	"resource_pools.pool_name":                          "name",
	"resource_pools.agent_reattach_enabled":             nothing + "tasks continue when an agent of Nomad restarts",
	"resource_pools.agent_reconnect_wait":               "stop_after, for all pools",
	"resource_pools.max_cpu_containers_per_agent":       "max_aux_containers_per_agent",
	"resource_pools.kubernetes_namespace":               "nomad.namespace, or the namespace of the pool's job",
	"resource_pools.scheduler.allow_heterogeneous_fits": "the opposite, equal_parts",
	"resource_pools.scheduler.numa_packing":             nothing + "devices of one link group are chosen together (docs/scheduling.md)",
	"resource_pools.scheduler.priority":                 "type: priority, with preemption and default_priority beside it",
	"resource_pools.scheduler.fair_share":               "type: fair_share",
	"resource_pools.scheduler.round_robin":              "type: round_robin",

	"resource_pools.provider":                            ofClouds,
	"resource_pools.provider.type":                       nothing + "Nomad's autoscaler adds and removes nodes, with the target of the cloud (docs/operate/autoscaling.md)",
	"resource_pools.provider.max_idle_agent_period":      "resource_pools[].max_idle_agent_period",
	"resource_pools.provider.max_agent_starting_period":  ofClouds,
	"resource_pools.provider.min_instances":              "min in the policy of Nomad's autoscaler (docs/operate/autoscaling.md)",
	"resource_pools.provider.max_instances":              "max in the policy of Nomad's autoscaler, and resource_pools[].node_classes[].max",
	"resource_pools.provider.launch_error_timeout":       "launch_error: false, so that requests wait for nodes",
	"resource_pools.provider.launch_error_retries":       "launch_error: false, so that requests wait for nodes",
	"resource_pools.provider.instance_type":              "resource_pools[].node_classes, for what such a machine has; " + strings.TrimPrefix(ofClouds, nothing),
	"resource_pools.provider.instance_slots":             "resource_pools[].node_classes[].slots",
	"resource_pools.provider.cpu_slots_allowed":          "resource_pools[].slots: cpu",
	"resource_pools.provider.spot":                       "resource_pools[].spot",
	"resource_pools.provider.partition":                  "resource_pools[].node_pool",
	"resource_pools.provider.master_url":                 ofAgents,
	"resource_pools.provider.master_cert_name":           ofAgents,
	"resource_pools.provider.startup_script":             ofClouds,
	"resource_pools.provider.container_startup_script":   ofAgents,
	"resource_pools.provider.agent_docker_image":         ofAgents,
	"resource_pools.provider.agent_docker_network":       ofAgents,
	"resource_pools.provider.agent_docker_runtime":       ofAgents,
	"resource_pools.provider.agent_fluent_image":         ofAgents,
	"resource_pools.provider.agent_config_file_contents": ofAgents,
	"resource_pools.provider.region":                     ofClouds,
	"resource_pools.provider.root_volume_size":           ofClouds,
	"resource_pools.provider.image_id":                   ofClouds,
	"resource_pools.provider.tag_key":                    ofClouds,
	"resource_pools.provider.tag_value":                  ofClouds,
	"resource_pools.provider.custom_tags":                ofClouds,
	"resource_pools.provider.instance_name":              ofClouds,
	"resource_pools.provider.ssh_key_name":               ofClouds,
	"resource_pools.provider.iam_instance_profile_arn":   ofClouds,
	"resource_pools.provider.network_interface":          ofClouds,
	"resource_pools.provider.log_group":                  ofClouds,
	"resource_pools.provider.log_stream":                 ofClouds,
	"resource_pools.provider.spot_max_price":             ofClouds,
	"resource_pools.provider.base_config":                ofClouds,
	"resource_pools.provider.project":                    ofClouds,
	"resource_pools.provider.zone":                       ofClouds,
	"resource_pools.provider.boot_disk_size":             ofClouds,
	"resource_pools.provider.boot_disk_source_image":     ofClouds,
	"resource_pools.provider.label_key":                  ofClouds,
	"resource_pools.provider.label_value":                ofClouds,
	"resource_pools.provider.name_prefix":                ofClouds,
	"resource_pools.provider.network_tags":               ofClouds,
	"resource_pools.provider.service_account":            ofClouds,
	"resource_pools.provider.operation_timeout_period":   ofClouds,

	"task_container_defaults.kubernetes":                "resource_pools[].max_slots_per_node",
	"resource_pools.task_container_defaults.kubernetes": "max_slots_per_node of the pool",

	"shell_terminal":                       terminals,
	"shell_terminal.allow_admin":           nothing + "only the owner may open a shell",
	"shell_terminal.max_sessions_per_user": terminals,
	"shell_terminal.max_sessions":          terminals,
	"shell_terminal.idle_timeout":          terminals,
	"shell_terminal.max_session_duration":  terminals,
	"shell_terminal.recheck_interval":      terminals,
	"shell_terminal.trusted_proxies":       "trusted_proxies, at the top level",
}
