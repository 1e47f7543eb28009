# The master of a Detent cluster, as one Nomad job:
#
#   nomad var put nomad/jobs/det-master dsn="postgres://…" initial_password="…"
#   nomad job run -var binary=https://…/det-master_linux_amd64.tar.gz master.nomad.hcl
#
# The path of the Nomad variable contains the job's name. docs/operate/install.md describes each step.

variable "job" {
  type        = string
  default     = [[ var "job" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Name of the job, of its Consul service, and of the Nomad variable with its secrets (nomad/jobs/<job>)."
}

variable "cluster" {
  type        = string
  default     = [[ var "cluster" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Name of this cluster; empty for cluster_name of the configuration. Several clusters can share a Nomad namespace: each changes only its own jobs."
}

variable "namespace" {
  type        = string
  default     = [[ var "namespace" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Nomad namespace of the master."
}

variable "region" {
  type    = string
  default = [[ var "region" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "datacenters" {
  type    = list(string)
  default = [[ var "datacenters" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "node_pool" {
  type    = string
  default = [[ var "node_pool" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "node" {
  type        = string
  default     = [[ var "node" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Name of the node to run on; empty for any node."
}

variable "count" {
  type        = number
  default     = [[ var "count" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Number of masters: all of them answer requests, and one leads. With a fixed port each master needs a node of its own."
}

variable "driver" {
  type        = string
  default     = [[ var "driver" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "raw_exec or exec with a binary; docker or podman with an image."
}

variable "binary" {
  type        = string
  default     = [[ var "binary" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "The program: a path on the node (raw_exec), or the URL of a file det-master or of an archive that contains it (raw_exec and exec)."
}

variable "checksum" {
  type        = string
  default     = [[ var "checksum" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Checksum of the file at the URL, as \"sha256:…\"."
}

variable "image" {
  type        = string
  default     = [[ var "image" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Container image with det-master on its PATH (docker and podman)."
}

variable "network_mode" {
  type        = string
  default     = [[ var "network_mode" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Network of the container (docker and podman): host for the node's own, where Consul's agent is at 127.0.0.1; empty for the driver's default."
}

variable "user" {
  type        = string
  default     = [[ var "user" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Account that the master runs as; empty for the driver's default."
}

variable "port" {
  type        = number
  default     = [[ var "port" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Port of API and web pages; 0 lets Nomad choose one."
}

variable "tasks_port" {
  type        = number
  default     = [[ var "tasks_port" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Port of the pages of notebooks and TensorBoards, which need another origin than the API; 0 lets Nomad choose one."
}

variable "tasks_url" {
  type        = string
  default     = [[ var "tasks_url" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Address of tasks_port for browsers; empty for the host of public_url with that port. Set it if another server ends TLS in front of the master."
}

variable "public_url" {
  type        = string
  default     = [[ var "public_url" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Address of the master for users and tasks; empty for the address that the master listens on."
}

variable "config" {
  type        = string
  default     = [[ var "config" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Content of the master's configuration file (YAML). Put secrets into the Nomad variable instead."
}

variable "pool_jobs" {
  type        = list(string)
  default     = []
  description = "Paths of files with the jobs of resource pools, on the machine where you run nomad job run. The master finds each file as pools/<file name>, relative to its configuration."
}

variable "env" {
  type        = map(string)
  default     = [[ var "env" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Environment variables of the master, DETENT_…; they override the configuration file."
}

variable "nomad_addr" {
  type        = string
  default     = [[ var "nomad_addr" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Address of Nomad's API for the master; empty for the agent on the master's node."
}

variable "consul_addr" {
  type        = string
  default     = [[ var "consul_addr" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Address of Consul's API for the master; empty if you do not run Consul."
}

variable "vault_addr" {
  type        = string
  default     = [[ var "vault_addr" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Address of Vault's API for the master; empty if Vault issues no credentials for checkpoints. The master signs in with its workload identity."
}

variable "nomad_ca" {
  type        = string
  default     = [[ var "nomad_ca" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Certificate (PEM) of the authority of Nomad's API, if nomad_addr is https and the authority is private."
}

variable "nomad_client_cert" {
  type        = bool
  default     = [[ var "nomad_client_cert" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Send a client certificate to Nomad's API: nomad_cert and nomad_key in the master's Nomad variable."
}

variable "consul_ca" {
  type        = string
  default     = [[ var "consul_ca" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Certificate (PEM) of the authority of Consul's API, if consul_addr is https and the authority is private."
}

variable "tls" {
  type        = bool
  default     = [[ var "tls" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Serve HTTPS: tls_cert and tls_key in the master's Nomad variable are the certificate and the key. The master reads them again when they change."
}

variable "tls_ca" {
  type        = string
  default     = [[ var "tls_ca" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Certificate (PEM) of the authority of the master's certificate, if that authority is private. Tasks trust it."
}

variable "vault_ca" {
  type        = string
  default     = [[ var "vault_ca" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Certificate (PEM) of the authority of Vault's API, if that authority is private."
}

variable "service_provider" {
  type        = string
  default     = [[ var "service_provider" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "consul, or nomad for Nomad's own services."
}

variable "service_tags" {
  type        = list(string)
  default     = [[ var "service_tags" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Tags of the service, for an ingress."
}

variable "cpu" {
  type    = number
  default = [[ var "cpu" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "memory" {
  type    = number
  default = [[ var "memory" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "memory_max" {
  type        = number
  default     = [[ var "memory_max" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "MB up to which the master may grow beyond memory, if the cluster allows memory oversubscription; 0 for no more than memory."
}

locals {
  cluster      = var.cluster != "" ? var.cluster : try(yamldecode(var.config).cluster_name, "detent")
  authorities  = { "nomad-ca.pem" = var.nomad_ca, "consul-ca.pem" = var.consul_ca, "vault-ca.pem" = var.vault_ca, "tls-ca.pem" = var.tls_ca }
  keys         = concat(var.tls ? ["tls_cert", "tls_key"] : [], var.nomad_client_cert ? ["nomad_cert", "nomad_key"] : [])
  is_url       = length(split("://", var.binary)) > 1
  is_container = contains(["docker", "podman"], var.driver)
  is_apart     = local.is_container && var.network_mode != "host" # from the node's network
}

job "det-master" {
  id          = var.job
  name        = var.job
  type        = "service"
  region      = var.region
  namespace   = var.namespace
  datacenters = var.datacenters
  node_pool   = var.node_pool
  priority    = 80 # above the tasks: without a master no task is scheduled

  meta {
    detent_cluster = local.cluster
    detent_role    = "master"
  }

  ui {
    description = "Master of the Detent cluster **${local.cluster}**: API, web pages and scheduler. Tasks continue to run while no master runs. What waits has no job yet: the page of the queue lists it, each with its reason."

    dynamic "link" {
      for_each = var.public_url == "" ? {} : { "Web pages" = "", "The queue: what waits, and why" = "/cluster?tab=queue", "The REST API" = "/docs/rest-api" }
      content {
        label = link.key
        url   = "${trimsuffix(var.public_url, "/")}${link.value}"
      }
    }
  }

  update {
    max_parallel      = 1
    health_check      = "checks"
    min_healthy_time  = "2s"
    healthy_deadline  = "2m"
    progress_deadline = "5m"
    auto_revert       = true
  }

  group "master" {
    count = var.count

    # All state is in PostgreSQL: a master can be killed at any moment and started on any node. So Nomad
    # restarts it at once and never gives up: after 20 failed starts Nomad waits for the rest of the
    # interval, then tries again.
    restart {
      attempts = 20
      interval = "30s"
      delay    = "250ms"
      mode     = "delay"
    }

    reschedule {
      delay          = "5s"
      delay_function = "exponential"
      max_delay      = "1m"
      unlimited      = true
    }

    # A master whose node cannot reach Nomad's servers, for example because a server hangs, still serves tasks
    # and users. So it keeps running, and stays when the node is back. If another node can run a master meanwhile,
    # Nomad starts one there, and stops it then: one more master does no harm, because only one leads.
    disconnect {
      lost_after = "24h"
      replace    = true
      reconcile  = "keep_original"
    }

    dynamic "constraint" {
      for_each = var.node == "" ? [] : [var.node]
      content {
        attribute = "${node.unique.name}"
        value     = constraint.value
      }
    }

    dynamic "constraint" {
      for_each = var.count > 1 && var.port != 0 ? [true] : []
      content {
        operator = "distinct_hosts"
        value    = "true"
      }
    }

    network {
      port "http" {
        static = var.port
      }

      port "tasks" {
        static = var.tasks_port
      }
    }

    service {
      name     = var.job
      provider = var.service_provider
      port     = "http"
      tags     = var.service_tags

      check {
        name     = "health"
        type     = "http"
        protocol = var.tls ? "https" : "http"
        path     = "/health"
        interval = "2s"
        timeout  = "2s"

        # The certificate is valid for the master's name, and the check connects to an address.
        tls_skip_verify = var.tls
      }
    }

    task "master" {
      driver = var.driver
      user   = var.user

      # On SIGTERM the master resigns as the leader and finishes its open requests.
      kill_signal  = "SIGTERM"
      kill_timeout = "20s"

      # The default identity: with ACLs on, a policy attached to this job is all the master needs.
      identity {
        env  = true
        file = true
      }

      # The identity for Vault. A vault block would keep the master from starting while Vault is down.
      dynamic "identity" {
        for_each = var.vault_addr == "" ? [] : [true]
        content {
          name = "vault"
          aud  = ["vault.io"]
          ttl  = "1h"
          file = true
        }
      }

      config {
        command = local.is_container ? "det-master" : "/bin/sh"
        args = local.is_container ? ["serve", "--config", "/local/master.yaml"] : [
          # A fetched file has lost its execute bit. The mode of a file on the node is not changed.
          "-c", local.is_url
          ? "chmod 0755 \"$NOMAD_TASK_DIR/det-master\" && exec \"$NOMAD_TASK_DIR/det-master\" serve --config \"$NOMAD_TASK_DIR/master.yaml\""
          : "exec \"$DETENT_BINARY\" serve --config \"$NOMAD_TASK_DIR/master.yaml\""
        ]
        image        = local.is_container ? var.image : null
        network_mode = local.is_container && var.network_mode != "" ? var.network_mode : null
        ports        = local.is_apart ? ["http", "tasks"] : null
      }

      dynamic "artifact" {
        for_each = local.is_url ? [var.binary] : []
        content {
          source      = artifact.value
          destination = "local/"

          dynamic "options" {
            for_each = var.checksum == "" ? [] : [var.checksum]
            content {
              checksum = options.value
            }
          }
        }
      }

      template {
        destination = "local/master.yaml"
        data        = var.config == "" ? "# everything by default\n" : var.config
        change_mode = "restart"
        # These delimiters do not occur in the file, so Nomad does not read it as a template.
        left_delimiter  = "\u0001"
        right_delimiter = "\u0002"
      }

      dynamic "template" {
        for_each = var.pool_jobs
        content {
          destination     = "local/pools/${basename(template.value)}"
          data            = file(template.value)
          change_mode     = "restart"
          left_delimiter  = "\u0001"
          right_delimiter = "\u0002"
        }
      }

      # The address of the database contains its password. So it is in a Nomad variable that only this
      # job can read, and reaches the master through a file that only the master can read.
      template {
        destination = "secrets/master.env"
        env         = true
        change_mode = "restart"
        data        = <<-EOT
        {{- /* An item that is missing is not empty for a template, and its text is. An empty variable would hide a
               variable of the job or a key of the configuration. */ -}}
        {{- with nomadVar "nomad/jobs/${var.job}" }}
        DETENT_DATABASE={{ .dsn | toJSON }}
        {{- with print .initial_password }}
        DETENT_INITIAL_PASSWORD={{ . | toJSON }}
        {{- end }}
        {{- with print .consul_token }}
        CONSUL_HTTP_TOKEN={{ . | toJSON }}
        {{- end }}
        {{- with print .webhooks_signing_key }}
        DETENT_WEBHOOKS_SIGNING_KEY={{ . | toJSON }}
        {{- end }}
        {{- with print .nomad_regions }}
        DETENT_NOMAD_REGIONS={{ . | toJSON }}
        {{- end }}
        {{- end }}
        EOT
      }

      # Certificates of authorities; they are not secret.
      dynamic "template" {
        for_each = { for file, text in local.authorities : file => text if text != "" }
        content {
          destination     = "local/${template.key}"
          data            = template.value
          change_mode     = "restart"
          left_delimiter  = "\u0001"
          right_delimiter = "\u0002"
        }
      }

      # Certificates and keys. The master itself reads its own certificate again when it changes.
      dynamic "template" {
        for_each = local.keys
        content {
          destination = "secrets/${replace(template.value, "_", "-")}.pem"
          perms       = var.user == "" ? "0600" : "0644"
          change_mode = substr(template.value, 0, 4) == "tls_" ? "noop" : "restart"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job}\" }}{{ .${template.value} }}\n{{ end }}"
        }
      }

      # DETENT_ and a key of the configuration in capitals set that key. The master listens on the address
      # that Nomad gives to the port.
      env = merge({
        DETENT_BINARY           = local.is_url ? "" : var.binary
        DETENT_CLUSTER_NAME     = local.cluster
        DETENT_LISTEN           = local.is_apart ? ":${NOMAD_PORT_http}" : "${NOMAD_IP_http}:${NOMAD_PORT_http}"
        DETENT_TASKS_LISTEN     = local.is_apart ? ":${NOMAD_PORT_tasks}" : "${NOMAD_IP_tasks}:${NOMAD_PORT_tasks}"
        DETENT_NOMAD_ADDRESS    = var.nomad_addr != "" ? var.nomad_addr : "http://${attr.unique.advertise.address}"
        DETENT_NOMAD_NAMESPACE  = var.namespace
        DETENT_NOMAD_REGION     = var.region
        DETENT_NOMAD_TOKEN_FILE = "${NOMAD_SECRETS_DIR}/nomad_token"
        DETENT_CONSUL_ADDRESS   = var.consul_addr
        DETENT_SPOOL_FOLDER     = "${NOMAD_ALLOC_DIR}/tmp"          # on disk: /tmp may be in memory
        }, var.count == 1 ? {} : { DETENT_SERVICE_NAME = var.job }, # tasks look up a healthy master under this name
        var.public_url == "" ? {} : { DETENT_PUBLIC_URL = var.public_url },
        var.nomad_ca == "" ? {} : { DETENT_NOMAD_CA_FILE = "${NOMAD_TASK_DIR}/nomad-ca.pem" },
        var.vault_ca == "" ? {} : { DETENT_VAULT_CA_FILE = "${NOMAD_TASK_DIR}/vault-ca.pem" },
        var.consul_ca == "" ? {} : { DETENT_CONSUL_CA_FILE = "${NOMAD_TASK_DIR}/consul-ca.pem" },
        var.tls_ca == "" ? {} : { DETENT_TLS_CA_FILE = "${NOMAD_TASK_DIR}/tls-ca.pem" },
        !var.tls ? {} : {
          DETENT_TLS_CERT_FILE = "${NOMAD_SECRETS_DIR}/tls-cert.pem"
          DETENT_TLS_KEY_FILE  = "${NOMAD_SECRETS_DIR}/tls-key.pem"
        },
        !var.nomad_client_cert ? {} : {
          DETENT_NOMAD_CERT_FILE = "${NOMAD_SECRETS_DIR}/nomad-cert.pem"
          DETENT_NOMAD_KEY_FILE  = "${NOMAD_SECRETS_DIR}/nomad-key.pem"
        },
        var.tasks_url == "" ? {} : { DETENT_TASKS_URL = var.tasks_url },
        var.vault_addr == "" ? {} : {
          DETENT_VAULT_ADDRESS  = var.vault_addr
          DETENT_VAULT_JWT_FILE = "${NOMAD_SECRETS_DIR}/nomad_vault.jwt"
        },
      var.env)

      resources {
        cpu        = var.cpu
        memory     = var.memory
        memory_max = var.memory_max == 0 ? null : var.memory_max
      }
    }
  }
}
