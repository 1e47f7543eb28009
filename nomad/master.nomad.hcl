# The master of a Detent cluster, as one Nomad job:
#
#   nomad var put nomad/jobs/det-master dsn="postgres://…" initial_password="…"
#   nomad job run -var binary=https://…/det-master_linux_amd64.tar.gz master.nomad.hcl
#
# The variable path follows the job's name. docs/operate/install.md goes through all of it.

variable "job" {
  type        = string
  default     = "det-master"
  description = "Name of the job, of its Consul service, and of the Nomad variable with its secrets (nomad/jobs/<job>)."
}

variable "cluster" {
  type        = string
  default     = ""
  description = "Name of this cluster; empty for cluster_name of the configuration. Several clusters can share a Nomad namespace: each touches its own jobs only."
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
  description = "Name of the one node to run on; empty for any."
}

variable "count" {
  type        = number
  default     = 1
  description = "Masters side by side: all answer, one leads. With a fixed port each needs a node of its own."
}

variable "driver" {
  type        = string
  default     = "raw_exec"
  description = "raw_exec or exec with a binary; docker or podman with an image."
}

variable "binary" {
  type        = string
  default     = "/usr/local/bin/det-master"
  description = "Where det-master is: a path on the node (raw_exec), or the URL of a file det-master or of an archive that holds it (raw_exec and exec)."
}

variable "checksum" {
  type        = string
  default     = ""
  description = "Checksum of what the URL gives, as \"sha256:…\"."
}

variable "image" {
  type        = string
  default     = ""
  description = "Container image with det-master on its PATH (docker and podman)."
}

variable "user" {
  type        = string
  default     = ""
  description = "Account to run as; empty for the driver's default."
}

variable "port" {
  type        = number
  default     = 8080
  description = "Port of API and web pages; 0 lets Nomad choose one."
}

variable "tasks_port" {
  type        = number
  default     = 8081
  description = "Port of the pages of notebooks and TensorBoards, which have another origin than the API; 0 lets Nomad choose one."
}

variable "tasks_url" {
  type        = string
  default     = ""
  description = "Address of that port for people's browsers; empty for the host of public_url at that port, unless something before the master speaks TLS for it."
}

variable "public_url" {
  type        = string
  default     = ""
  description = "Address of the web pages for people; empty for the address that the master listens on."
}

variable "config" {
  type        = string
  default     = ""
  description = "Content of the master's configuration file (YAML). No secrets: these belong into the Nomad variable."
}

variable "env" {
  type        = map(string)
  default     = {}
  description = "Settings by environment, DETENT_…; they go before the configuration file."
}

variable "nomad_addr" {
  type        = string
  default     = ""
  description = "Nomad's API as the master reaches it; empty for the agent that runs it."
}

variable "consul_addr" {
  type        = string
  default     = "http://127.0.0.1:8500"
  description = "Consul's API as the master reaches it; empty where there is no Consul."
}

variable "vault_addr" {
  type        = string
  default     = ""
  description = "Vault's API as the master reaches it; empty where checkpoints need no credentials out of Vault. The master signs in with its workload identity."
}

variable "nomad_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of Nomad's API, where nomad_addr is https and the authority a private one."
}

variable "nomad_client_cert" {
  type        = bool
  default     = false
  description = "Nomad's API wants a client certificate: it is in the master's Nomad variable, as nomad_cert and nomad_key."
}

variable "consul_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of Consul's API, where consul_addr is https and the authority a private one."
}

variable "tls" {
  type        = bool
  default     = false
  description = "The master itself speaks TLS: certificate and key are in its Nomad variable, as tls_cert and tls_key. They are read anew when they change."
}

variable "tls_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of the master's certificate, where it is a private one: tasks are told to trust it."
}

variable "vault_ca" {
  type        = string
  default     = ""
  description = "Certificate (PEM) of the authority of Vault's API, where that is a private one."
}

variable "service_provider" {
  type        = string
  default     = "consul"
  description = "consul, or nomad for Nomad's own services."
}

variable "service_tags" {
  type        = list(string)
  default     = []
  description = "Tags of the service, as an ingress reads them."
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
  description = "Memory that it may use beyond its reservation, where the cluster allows oversubscription; 0 for none."
}

locals {
  cluster      = var.cluster != "" ? var.cluster : try(yamldecode(var.config).cluster_name, "detent")
  authorities  = { "nomad-ca.pem" = var.nomad_ca, "consul-ca.pem" = var.consul_ca, "vault-ca.pem" = var.vault_ca, "tls-ca.pem" = var.tls_ca }
  keys         = concat(var.tls ? ["tls_cert", "tls_key"] : [], var.nomad_client_cert ? ["nomad_cert", "nomad_key"] : [])
  is_url       = length(split("://", var.binary)) > 1
  is_container = contains(["docker", "podman"], var.driver)
}

job "det-master" {
  id          = var.job
  name        = var.job
  type        = "service"
  region      = var.region
  namespace   = var.namespace
  datacenters = var.datacenters
  node_pool   = var.node_pool
  priority    = 80 # before what it places: without a master nothing is scheduled

  meta {
    detent_cluster = local.cluster
    detent_role    = "master"
  }

  ui {
    description = "Master of the Detent cluster **${local.cluster}**: API, web pages and scheduler. Tasks train on while it is away."
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

    # All state is in PostgreSQL: a master can be killed at any moment and started anywhere. So it is
    # started again at once, for as long as it takes: when one start after the other fails, a pause of
    # at most the interval's rest, never an end.
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

        # The certificate is for the master's name, and the check asks an address.
        tls_skip_verify = var.tls
      }
    }

    task "master" {
      driver = var.driver
      user   = var.user

      # SIGTERM lets it resign as the leader and finish what it answers.
      kill_signal  = "SIGTERM"
      kill_timeout = "20s"

      # The default identity: with ACLs on, a policy attached to this job is all the master needs.
      identity {
        env  = true
        file = true
      }

      # What Vault is shown. It is no vault block: a master starts also while Vault is away.
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
          # A fetched file has lost its execute bit; a path on the node is left as it is.
          "-c", local.is_url
          ? "chmod 0755 \"$NOMAD_TASK_DIR/det-master\" && exec \"$NOMAD_TASK_DIR/det-master\" serve --config \"$NOMAD_TASK_DIR/master.yaml\""
          : "exec \"$DETENT_BINARY\" serve --config \"$NOMAD_TASK_DIR/master.yaml\""
        ]
        image = local.is_container ? var.image : null
        ports = local.is_container ? ["http", "tasks"] : null
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
        # The configuration is not ours to interpret: nothing in it is taken for a template.
        left_delimiter  = "\u0001"
        right_delimiter = "\u0002"
      }

      # The address of the database holds its password, so it comes from a Nomad variable, which only
      # this job can read, through a file that only the task can read.
      template {
        destination = "secrets/master.env"
        env         = true
        change_mode = "restart"
        data        = <<-EOT
        {{- with nomadVar "nomad/jobs/${var.job}" }}
        DETENT_DATABASE={{ .dsn | toJSON }}
        {{- with .initial_password }}
        DETENT_INITIAL_PASSWORD={{ . | toJSON }}
        {{- end }}
        {{- with .consul_token }}
        CONSUL_HTTP_TOKEN={{ . | toJSON }}
        {{- end }}
        {{- end }}
        EOT
      }

      # Authorities, which are public.
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

      # Certificates and keys. The master looks at its own anew by itself.
      dynamic "template" {
        for_each = local.keys
        content {
          destination = "secrets/${replace(template.value, "_", "-")}.pem"
          perms       = var.user == "" ? "0600" : "0644"
          change_mode = substr(template.value, 0, 4) == "tls_" ? "noop" : "restart"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job}\" }}{{ .${template.value} }}\n{{ end }}"
        }
      }

      # Settings of the master are DETENT_ and a key of its configuration in capitals. The address is the
      # one that Nomad gives to the port: all of the machine's, unless the node keeps it to one.
      env = merge({
        DETENT_BINARY           = local.is_url ? "" : var.binary
        DETENT_CLUSTER_NAME     = local.cluster
        DETENT_LISTEN           = local.is_container ? ":${NOMAD_PORT_http}" : "${NOMAD_IP_http}:${NOMAD_PORT_http}"
        DETENT_TASKS_LISTEN     = local.is_container ? ":${NOMAD_PORT_tasks}" : "${NOMAD_IP_tasks}:${NOMAD_PORT_tasks}"
        DETENT_NOMAD_ADDRESS    = var.nomad_addr != "" ? var.nomad_addr : "http://${attr.unique.advertise.address}"
        DETENT_NOMAD_NAMESPACE  = var.namespace
        DETENT_NOMAD_REGION     = var.region
        DETENT_NOMAD_TOKEN_FILE = "${NOMAD_SECRETS_DIR}/nomad_token"
        DETENT_CONSUL_ADDRESS   = var.consul_addr
        DETENT_SPOOL_FOLDER     = "${NOMAD_ALLOC_DIR}/tmp"          # on disk: /tmp may be memory
        }, var.count == 1 ? {} : { DETENT_SERVICE_NAME = var.job }, # tasks follow it to whichever master is healthy
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
