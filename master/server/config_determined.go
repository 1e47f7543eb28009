package server

import (
	"regexp"
	"strings"
)

// determinedKeys are the keys of Determined's master.yaml that have another name in Detent, or no meaning there, by their paths.
var determinedKeys = map[string]string{
	"db":                                    "database: postgres://user:password@host:5432/name",
	"port":                                  "listen: host:port",
	"root":                                  "nothing: the pages are in det-master",
	"log":                                   "log_level",
	"logging":                               "nothing: logs are in PostgreSQL, and det and the API read them there",
	"config_file":                           "the flag --config of det-master",
	"enable_cors":                           "nothing: pages of other origins may not call the API",
	"telemetry":                             "nothing: Detent sends no telemetry",
	"observability":                         "nothing: /metrics is always available",
	"cache":                                 "nothing: code and files are in PostgreSQL",
	"feature_switches":                      "nothing: no part is hidden behind a switch",
	"ui_customization":                      "nothing: the pages have no logo of a site",
	"integrations":                          "nothing: Detent does not know Pachyderm",
	"oidc":                                  "identity_providers",
	"saml":                                  "nothing: identity_providers sign users in by OpenID Connect, also for a broker that speaks SAML",
	"reserved_ports":                        "nothing: Nomad gives each task its ports",
	"hpimportance":                          "nothing: the pages compute the importance of hyperparameters",
	"internal":                              "nothing: it was for Determined's own cloud",
	"__internal":                            "nothing: it was for Determined's own tests",
	"genai":                                 "nothing: it was for another product",
	"deployment_type":                       "nothing: it was for Determined's own cloud",
	"security":                              "tls, initial_password, security.authz",
	"security.initial_user_password":        "initial_password",
	"security.tls":                          "tls.cert_file and tls.key_file",
	"security.default_task":                 "nothing: det user link-with-agent-user links users with accounts of nodes, and docker.user of a pool is for the others",
	"security.ssh":                          "nothing: shells have Ed25519 keys",
	"security.rsa_key_size":                 "nothing: shells have Ed25519 keys",
	"security.token":                        "tokens.max_days and tokens.default_days",
	"security.kerberos":                     "nothing: Hadoop's storage is not supported",
	"resource_manager":                      "nomad, resource_pools",
	"additional_resource_managers":          "resource_pools with region, and nomad.regions",
	"resource_pools.pool_name":              "name",
	"resource_pools.provider":               "nothing: Nomad's autoscaler adds and removes nodes",
	"resource_pools.agent_reattach_enabled": "nothing: tasks continue when an agent of Nomad restarts",
	"resource_pools.agent_reconnect_wait":   "stop_after, for all pools",
	"resource_pools.max_cpu_containers_per_agent":       "max_aux_containers_per_agent",
	"resource_pools.kubernetes_namespace":               "nomad.namespace, or the namespace of the pool's job",
	"resource_pools.scheduler.allow_heterogeneous_fits": "the opposite, equal_parts",
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// determinedHint says what Detent has in place of a key of Determined.
func determinedHint(path string) (hint string, theirs bool) {
	ours, theirs := determinedKeys[indexes.ReplaceAllString(path, "")]
	if !theirs {
		return "", false
	}
	if why, none := strings.CutPrefix(ours, "nothing: "); none {
		return "; this is a key of Determined and has no meaning here: " + why, true
	}
	return "; this is a key of Determined, for which Detent has " + ours, true
}
