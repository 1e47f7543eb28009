package server

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/expconf"
)

// Config is the configuration of a master. LoadConfig reads it from a file, then from the
// environment (DETENT_ and the key in capitals, with underscores for dots), then from flags; a
// later value replaces an earlier one.
//
// The comment of a field is its line in docs/operate/configuration.md, which is made from
// this file: go test ./master/server -run Page -rewrite.
type Config struct {
	// Address that the API and the web pages listen on, host:port.
	Listen string `yaml:"listen"`
	// Address under which users reach the master. Nomad's UI links to it. By default the
	// address of `listen`.
	PublicURL string `yaml:"public_url"`
	// Addresses under which tasks reach the masters. Runners try them in this order, and Nomad
	// fetches the runner of a new task from the first that answers the leader. By default
	// `public_url`.
	TaskURLs []string `yaml:"task_urls"`
	// Address of a second listener, host:port, for the pages of notebooks and TensorBoards,
	// which need another origin than the API ([the proxy](../proxy.md)). Without this key and
	// without `tasks_domain` browsers cannot open these pages.
	TasksListen string `yaml:"tasks_listen"`
	// Address under which browsers reach `tasks_listen`. By default the host of `public_url`
	// with the port of `tasks_listen`. Set this key if another server ends TLS in front of the
	// master.
	TasksURL string `yaml:"tasks_url"`
	// Domain in which each task has a host name, such as `tasks.example.com` or
	// `tasks.example.com:8443`. The DNS name `*.<domain>` must resolve to the master.
	TasksDomain string `yaml:"tasks_domain"`
	// An ingress that forwards users' requests to tasks itself, and asks the master about each
	// ([an ingress for tasks](ingress.md)).
	Ingress IngressConfig `yaml:"ingress"`
	// Let everybody reach ports of tasks that a configuration declares in
	// `environment.proxy_ports` as unauthenticated ([the proxy](../proxy.md)). Without it such
	// ports require a sign-in, like all other ports.
	UnauthenticatedPorts bool `yaml:"unauthenticated_ports"`
	// Address of the PostgreSQL database, `postgres://user:password@host:5432/detent`. Required.
	Database string `yaml:"database"`
	// Size of the pool of connections to PostgreSQL for requests. A master has up to fourteen more, which
	// requests cannot use: for the control loop and its lease, and to hear of changes.
	DatabaseConns int `yaml:"database_conns"`
	// Name of the cluster that users see.
	ClusterName string `yaml:"cluster_name"`
	// Service name that the masters register. Runners look up healthy masters under this name,
	// so a task continues when the master that started it ends.
	ServiceName string `yaml:"service_name"`
	// Lowest level of log lines: trace, debug, info, warning or error. `det master config set` changes it
	// for all running masters ([running](running.md)).
	LogLevel string `yaml:"log_level"`
	// TLS of the master itself ([TLS](tls.md)).
	TLS TLSConfig `yaml:"tls"`
	// Where users may sign in with an empty password: loopback, always or never.
	BlankPasswords string `yaml:"blank_passwords"`
	// Access tokens, which programs keep ([security](security.md)).
	Tokens TokensConfig `yaml:"tokens"`
	// Identity providers with which users sign in by OpenID Connect ([sign-in](sign-in.md)).
	OIDC []OIDCConfig `yaml:"identity_providers"`
	// Let browsers sign in with identity providers over plain HTTP although pages of tasks are on
	// the same host, at another port: such a page can sign in a visitor as another user
	// ([sign-in](sign-in.md#plain-http)). Without this key the master does not start like that.
	PlainHTTPSignIn bool `yaml:"plain_http_sign_in"`
	// Other jobs of Nomad that may sign in with their workload identities, such as jobs of CI
	// ([sign-in](sign-in.md#jobs-of-nomad)): a list of `{namespace, job, user}`.
	JobSignIn []JobSignInConfig `yaml:"job_sign_in"`
	// Users and groups that an identity provider manages ([SCIM](scim.md)).
	SCIM SCIMConfig `yaml:"scim"`
	// The audit trail ([audit](audit.md)).
	Audit AuditConfig `yaml:"audit"`
	// What users may do ([access](access.md)).
	Security SecurityConfig `yaml:"security"`
	// Allow pools with `driver: raw_exec` on a master that listens on an address other than
	// loopback. Under raw_exec a task can read the secrets of every other task on its node.
	SharedRawExec bool `yaml:"shared_raw_exec"`

	// Further host names of the master, in addition to the name of its machine and the host of
	// `public_url`; `*.example.com` stands for every host of a domain. The master rejects
	// requests for other hosts.
	Hosts []string `yaml:"hosts"`
	// Addresses or networks of the proxies in front of the master. The master trusts their
	// X-Forwarded-For header ([security](security.md)).
	TrustedProxies []string `yaml:"trusted_proxies"`
	// Limits for connections of clients.
	Connections ConnectionsConfig `yaml:"connections"`
	// Password of the users admin and determined until it is changed, at least 8 characters.
	InitialPassword string `yaml:"initial_password"`
	// Folders from which the master may read checkpoints for downloads. By default the folder
	// of `checkpoint_storage`.
	CheckpointRoots []string `yaml:"checkpoint_roots"`
	// Addresses of S3-compatible stores from which the master may read checkpoints for
	// downloads, with the keys in the experiment's configuration. AWS and the `endpoint_url`
	// of `checkpoint_storage` are always allowed.
	CheckpointEndpoints []string `yaml:"checkpoint_endpoints"`
	// Send large files that programs log with MLflow's client through the master ([MLflow](../mlflow.md#files)). By default they go to S3,
	// Google's or Azure's storage directly, at addresses that the master signs, so that the programs' machines must reach the store.
	FilesThroughMaster bool `yaml:"files_through_master"`
	// Memory in MB for the searches and configurations of all experiments that have not
	// ended; one owner gets up to half of it ([security](security.md)). By default a fifth of the
	// memory of the master's Nomad job, or 256 outside Nomad.
	SearchMemory int `yaml:"search_memory_mb"`
	// How much users may store in PostgreSQL ([quotas](quotas.md#what-users-store)).
	DatabaseLimits DatabaseLimitsConfig `yaml:"database_limits"`
	// Disk space for the bodies of requests while the master receives them.
	Spool SpoolConfig `yaml:"spool"`

	// Connection to Nomad.
	Nomad NomadConfig `yaml:"nomad"`
	// Connection to Consul. Without an address the master uses Nomad's own services.
	Consul ConsulConfig `yaml:"consul"`
	// Connection to Vault, which issues credentials for checkpoints in S3
	// ([storage](../storage.md)). Without an address no credentials are issued.
	Vault VaultConfig `yaml:"vault"`
	// The resource pools. By default one pool of CPU slots on all nodes.
	Pools []PoolConfig `yaml:"resource_pools"`

	// How tasks sign in to S3 with their Nomad workload identity, if the store trusts Nomad
	// ([storage](../storage.md)).
	WebIdentity WebIdentityConfig `yaml:"web_identity"`
	// For how long the logs of tasks are kept ([logs](../logs.md)).
	Retention RetentionConfig `yaml:"retention_policy"`
	// The recording of the queue ([what if](../scheduling.md#what-if)).
	QueueRecording QueueRecordingConfig `yaml:"queue_recording"`
	// Systems that receive copies of log lines ([logs](../logs.md#copies-for-other-systems)).
	LogSinks []LogSinkConfig `yaml:"log_sinks"`
	// Requests to webhooks ([webhooks](../webhooks.md)).
	Webhooks WebhooksConfig `yaml:"webhooks"`
	// Region of S3, for tasks and for the master. The default is us-east-1, unless the
	// environment names a region.
	S3Region string `yaml:"s3_region"`

	// Pool of tasks that have slots and name no pool. By default the first pool.
	DefaultComputePool string `yaml:"default_compute_resource_pool"`
	// Pool of tasks that have no slots and name no pool. By default
	// `default_compute_resource_pool`.
	DefaultAuxPool string `yaml:"default_aux_resource_pool"`

	// Checkpoint storage of experiments that name none, in the form of an experiment's
	// configuration ([checkpoint storage](../storage.md)).
	CheckpointStorage any `yaml:"checkpoint_storage"`
	// Where the master removes files that a program uploaded and never reported: `own`, in buckets,
	// where each experiment has a prefix of its own; `all`, also in folders and containers that
	// experiments share, which no other program may use; or `off`
	// ([sweeps](../checkpoints.md#files-that-nobody-reported)).
	CheckpointSweep string `yaml:"checkpoint_sweep"`
	// Defaults for the configuration of every task ([containers](containers.md)).
	TaskContainerDefaults any `yaml:"task_container_defaults"`

	// Path of the Python that tasks under raw_exec find as `python3`, if their pool sets none.
	Python string `yaml:"python"`

	// Path of the det-runner that tasks fetch. By default the file beside det-master. Nodes of
	// another platform fetch det-runner-<os>-<arch> beside it. Beside each det-runner lies the
	// det-remover for its platform, which tasks that remove checkpoints fetch.
	RunnerPath string `yaml:"runner_path"`
	// Path of the `det` that tasks fetch. By default the file beside det-runner.
	DetPath string `yaml:"det_path"`
	// Folder of the Python package that tasks fetch. By default the folder `harness` beside
	// det-master.
	HarnessPath string `yaml:"harness_path"`

	// Time after which a node that cannot reach Nomad's servers ends its tasks. It must exceed
	// Nomad's heartbeat interval.
	StopAfter Duration `yaml:"stop_after"`
	// Time that Nomad has to place a job, counted from the first attempt to submit it.
	PlaceTimeout Duration `yaml:"place_timeout"`
	// Time that a node has to pull an image.
	PullTimeout Duration `yaml:"pull_timeout"`

	// Number of failures in a row after which an experiment avoids a node, if there is another
	// node; 0 for never ([when things fail](../faults.md)).
	AvoidNodeAfter int `yaml:"avoid_node_after"`

	// Reject an experiment or a generic task that requests more slots than its pool has. With
	// false, and in a pool without nodes, it waits until nodes join. Also a trial whose
	// [log policies](../faults.md#log-policies) exclude all nodes that could run it ends in
	// error, or waits with false.
	LaunchError bool `yaml:"launch_error"`

	// Seconds after which the master ends an unused notebook whose configuration has no
	// `idle_timeout`; 0 for never.
	NotebookTimeout int `yaml:"notebook_timeout"`
	// Seconds after which the master ends an unused TensorBoard whose configuration has no
	// `idle_timeout`; 0 for never.
	TensorboardTimeout int `yaml:"tensorboard_timeout"`
}

// SecurityConfig has the settings of what users may do.
type SecurityConfig struct {
	// Who decides what users may do.
	Authz AuthzConfig `yaml:"authz"`
}

// AuthzConfig chooses how the master decides.
type AuthzConfig struct {
	// `basic`: everybody sees everything, and only owners and admins may change an object. `rbac`:
	// roles, which users and groups have in workspaces or everywhere. All masters of a cluster need
	// the same value.
	Type string `yaml:"type"`
}

// The values of security.authz.type.
const (
	authzBasic = "basic"
	authzRoles = "rbac"
)

// NomadConfig is the connection to Nomad.
type NomadConfig struct {
	// Address of Nomad's API.
	Address string `yaml:"address"`
	// Address of Nomad's UI as browsers reach it, such as `https://nomad.example.org`. The pages then link attempts to their jobs and allocations in Nomad.
	UI string `yaml:"ui"`
	// Token. By default `NOMAD_TOKEN`, which Nomad sets for its own jobs.
	Token string `yaml:"token"`
	// File with the token. The master reads it again when it changes.
	TokenFile string `yaml:"token_file"`
	// Run although Nomad has no access control. A master that listens on an address other than loopback ends its start with
	// such a Nomad, because then every user can run jobs as root on the nodes.
	WithoutACL bool `yaml:"without_acl"`
	// Region of Nomad. Required with `regions`.
	Region string `yaml:"region"`
	// Further regions of Nomad, which pools can name ([regions](regions.md)): a list of `{name, address,
	// ui, token, token_file, datacenters, consul_datacenter, ca_file, cert_file, key_file}`, with
	// the meaning that these keys have here. `address` is that of the region's own Nomad. Without `datacenters` tasks may run in all.
	// `consul_datacenter` is the datacenter of Consul in which the region's services are; by default that of `consul.address`.
	Regions []RegionConfig `yaml:"regions"`
	// Namespace of the tasks' jobs, for pools whose job names none.
	Namespace string `yaml:"namespace"`
	// Datacenters in which tasks may run: names, or patterns with `*`.
	Datacenters []string `yaml:"datacenters"`
	// File with the certificate authority, PEM.
	CAFile string `yaml:"ca_file"`
	// File with the client's certificate, PEM.
	CertFile string `yaml:"cert_file"`
	// File with the key of the client's certificate, PEM.
	KeyFile string `yaml:"key_file"`
}

// ConsulConfig is the connection to Consul; without an address the master uses Nomad's own
// services.
type ConsulConfig struct {
	// Address of Consul's API.
	Address string `yaml:"address"`
	// Token. By default `CONSUL_HTTP_TOKEN`.
	Token string `yaml:"token"`
	// File with the token.
	TokenFile string `yaml:"token_file"`
	// Run although Consul has no access control. A master that listens on an address other than loopback ends its start with
	// such a Consul, because then every user can register services with the names of masters and tasks.
	WithoutACL bool `yaml:"without_acl"`
	// File with the certificate authority, PEM.
	CAFile string `yaml:"ca_file"`
}

// PoolConfig is one resource pool.
type PoolConfig struct {
	// Name of the pool. Required and unique.
	Name string `yaml:"name"`
	// Description for users.
	Description string `yaml:"description"`
	// Path of a file with a Nomad job, in HCL or JSON, on which the jobs of the pool's tasks
	// are based ([pools](pools.md)). A relative path starts at the folder of this
	// configuration. `driver`, `network_mode`, `node_pool`, `docker.user` and
	// `docker.hard_memory_limit` cannot be set beside it: the job has these settings.
	Job string `yaml:"job"`
	// Region of Nomad: one of `nomad.regions` ([regions](regions.md)). By default the master's own.
	Region string `yaml:"region"`
	// Node pool of Nomad. By default `default`.
	NodePool string `yaml:"node_pool"`
	// Task driver of Nomad: raw_exec, exec, docker or podman.
	Driver string `yaml:"driver"`
	// Network of tasks on one node: host, bridge, or the name of a network
	// ([networks](containers.md#networks)). Tasks on several nodes use the node's network.
	NetworkMode string `yaml:"network_mode"`
	// Kind of slot: cpu or device.
	Slots string `yaml:"slots"`
	// Name of the device in Nomad, such as `nvidia/gpu`, for `slots: device`.
	Device string `yaml:"device"`
	// Number of cores of a slot.
	CoresPerSlot int `yaml:"cores_per_slot"`
	// Memory of a slot in MB. By default 1024 for CPU slots, and an equal part of the node's
	// memory for devices.
	MemoryMBPerSlot int `yaml:"memory_mb_per_slot"`
	// Maximum number of slots on a node; 0 for no limit.
	MaxSlotsPerNode int `yaml:"max_slots_per_node"`
	// Number of CPU slots on every node, regardless of its size; 0 to compute it from the node's
	// cores and memory.
	SlotsPerNode int `yaml:"slots_per_node"`
	// Maximum number of tasks without slots on a node.
	MaxAux int `yaml:"max_aux_containers_per_agent"`
	// Memory of a task without slots, in MB.
	AuxMemoryMB int `yaml:"aux_memory_mb"`
	// Path of the Python that tasks find as `python3`, on every node.
	Python string `yaml:"python"`
	// Folder of the nodes in which each user has a folder of their own, named after the number of
	// the user, for notebooks and shells: they begin there, and its files stay when they end
	// ([folders that stay](containers.md#folders-that-stay)). All nodes must see the same folder.
	// Not for driver exec.
	Homes string `yaml:"homes"`
	// Keep each trial on one node, whatever its configuration says: the members of a trial on
	// several nodes use the nodes' own networks.
	SingleNode bool `yaml:"single_node"`
	// Nobody but the cluster itself reaches the ports that tasks open on the pool's nodes. Workers of a `TFKerasTrial` then average their gradients
	// by TensorFlow's own collectives, whose ports authenticate nobody ([Keras](../harness.md#keras)).
	TrustedNetwork bool `yaml:"trusted_network"`
	// Allow a job to preempt jobs of lower priority.
	Preemption bool `yaml:"preemption"`
	// Priority of jobs that name none, 1 (first) to 99 (last).
	Priority int `yaml:"default_priority"`
	// For how long a trial or a task may hold its place, such as `24h`: the limit of those that set no `resources.max_runtime`,
	// and the greatest that a configuration may set ([limits of time](../scheduling.md#limits-of-time)). By default there is no limit.
	MaxRuntime Duration `yaml:"max_runtime"`
	// How the pool shares its slots ([scheduling](../scheduling.md)).
	Scheduler SchedulerConfig `yaml:"scheduler"`

	// The pool's machines can go away at any time, with short notice or with none
	// ([spot machines](pools.md#spot-machines)).
	Spot bool `yaml:"spot"`
	// Place tasks without slots (notebooks, TensorBoards, commands) on spot machines too.
	AuxOnSpot bool `yaml:"aux_on_spot"`
	// For how long a node must hold no task before an autoscaler may remove it
	// ([autoscaling](autoscaling.md)).
	MaxIdle Duration `yaml:"max_idle_agent_period"`
	// Nodes that an autoscaler can add, the class first that it should add first: a list of
	// `{class, slots, model, device, attributes, max}` ([autoscaling](autoscaling.md)). By
	// default the classes of the nodes that the pool has.
	Classes []NodeClassConfig `yaml:"node_classes"`

	// What labels of nodes in Kubernetes mean here, for `environment.pod_spec`: a list of
	// `{label, value, gpu}` and `{label, value, attribute, is}`
	// ([pod_spec](../migrate.md#pod_spec)).
	PodLabels []PodLabelConfig `yaml:"pod_labels"`
	// For which devices of the node resources in Kubernetes stand, such as `rdma/ib`: a list of
	// `{name, devices}`.
	PodLimits []PodLimitConfig `yaml:"pod_limits"`

	// Defaults for the configuration of the pool's tasks. They override those of the cluster.
	TaskContainerDefaults any `yaml:"task_container_defaults"`
	// Limits for tasks in images, for `driver: docker` ([containers](containers.md)).
	Docker DockerConfig `yaml:"docker"`
}

// storage is the cluster's checkpoint storage, as a fragment that is merged under that of an
// experiment.
func (c *Config) storage() (expconf.CheckpointStorage, error) {
	if c.CheckpointStorage == nil {
		return expconf.CheckpointStorage{}, nil
	}
	src, err := json.Marshal(map[string]any{"checkpoint_storage": c.CheckpointStorage})
	if err != nil {
		return expconf.CheckpointStorage{}, err
	}
	raw, _, err := expconf.Parse("checkpoint_storage", src)
	return raw.CheckpointStorage, err
}
