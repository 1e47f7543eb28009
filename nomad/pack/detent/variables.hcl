# Made from nomad/master.nomad.hcl by go test ./nomad/pack -rewrite; change it there.

variable "job" {
  type        = string
  default     = "det-master"
  description = "Name of the job, of its Consul service, and of the Nomad variable with its secrets (nomad/jobs/<job>)."
}

variable "cluster" {
  type        = string
  default     = ""
  description = "Name of this cluster; empty for cluster_name of the configuration. Several clusters can share a Nomad namespace: each changes only its own jobs."
}

variable "namespace" {
  type        = string
  default     = "default"
  description = "Nomad namespace of the master."
}

variable "region" {
  type    = string
  default = "global"
}

variable "datacenters" {
  type    = list(string)
  default = ["*"]
}

variable "node_pool" {
  type    = string
  default = "default"
}

variable "node" {
  type        = string
  default     = ""
  description = "Name of the node to run on; empty for any node."
}

variable "count" {
  type        = number
  default     = 1
  description = "Number of masters: all of them answer requests, and one leads. With a fixed port each master needs a node of its own."
}

variable "driver" {
  type        = string
  default     = "raw_exec"
  description = "raw_exec or exec with a binary; docker or podman with an image."
}

variable "binary" {
  type        = string
  default     = "/usr/local/bin/det-master"
  description = "The program: a path on the node (raw_exec), or the URL of a file det-master or of an archive that contains it (raw_exec and exec)."
}

variable "checksum" {
  type        = string
  default     = ""
  description = "Checksum of the file at the URL, as \"sha256:…\"."
}

variable "image" {
  type        = string
  default     = ""
  description = "Container image with det-master on its PATH (docker and podman)."
}

variable "network_mode" {
  type        = string
  default     = ""
  description = "Network of the container (docker and podman): host for the node's own, where Consul's agent is at 127.0.0.1; empty for the driver's default."
}

variable "user" {
  type        = string
  default     = ""
  description = "Account that the master runs as; empty for the driver's default."
}

variable "port" {
  type        = number
  default     = 8080
  description = "Port of API and web pages; 0 lets Nomad choose one."
}

variable "tasks_port" {
  type        = number
  default     = 8081
  description = "Port of the pages of notebooks and TensorBoards, which need another origin than the API; 0 lets Nomad choose one."
}

variable "tasks_url" {
  type        = string
  default     = ""
  description = "Address of tasks_port for browsers; empty for the host of public_url with that port. Set it if another server ends TLS in front of the master."
}

variable "public_url" {
  type        = string
  default     = ""
  description = "Address of the master for users and tasks; empty for the address that the master listens on."
}

variable "config" {
  type        = string
  default     = ""
  description = "Content of the master's configuration file (YAML). Put secrets into the Nomad variable instead."
}

variable "env" {
  type        = map(string)
  default     = {}
  description = "Environment variables of the master, DETENT_…; they override the configuration file."
}

variable "nomad_addr" {
  type        = string
  default     = ""
  description = "Address of Nomad's API for the master; empty for the agent on the master's node."
}

variable "consul_addr" {
  type        = string
  default     = "http://127.0.0.1:8500"
  description = "Address of Consul's API for the master; empty if you do not run Consul."
}

variable "vault_addr" {
  type        = string
  default     = ""
  description = "Address of Vault's API for the master; empty if Vault issues no credentials for checkpoints. The master signs in with its workload identity."
}

variable "nomad_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of Nomad's API, if nomad_addr is https and the authority is private."
}

variable "nomad_client_cert" {
  type        = bool
  default     = false
  description = "Send a client certificate to Nomad's API: nomad_cert and nomad_key in the master's Nomad variable."
}

variable "consul_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of Consul's API, if consul_addr is https and the authority is private."
}

variable "tls" {
  type        = bool
  default     = false
  description = "Serve HTTPS: tls_cert and tls_key in the master's Nomad variable are the certificate and the key. The master reads them again when they change."
}

variable "tls_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of the master's certificate, if that authority is private. Tasks trust it."
}

variable "vault_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of Vault's API, if that authority is private."
}

variable "service_provider" {
  type        = string
  default     = "consul"
  description = "consul, or nomad for Nomad's own services."
}

variable "service_tags" {
  type        = list(string)
  default     = []
  description = "Tags of the service, for an ingress."
}

variable "cpu" {
  type    = number
  default = 500
}

variable "memory" {
  type    = number
  default = 512
}

variable "memory_max" {
  type        = number
  default     = 0
  description = "MB up to which the master may grow beyond memory, if the cluster allows memory oversubscription; 0 for no more than memory."
}
