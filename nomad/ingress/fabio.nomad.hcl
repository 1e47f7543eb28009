# Fabio in front of a Detent cluster, as one Nomad job:
#
#   nomad job run fabio.nomad.hcl
#   nomad job run -var 'service_tags=["urlprefix-detent.example.com/", "urlprefix-*.tasks.example.com/"]' … master.nomad.hcl
#
# Fabio routes all requests to the masters, by these tags of their service: those for the master's host, and
# those for the hosts of tasks, which the masters forward. Fabio can ask another server about a request, but
# it adds the answer's headers to its response and not to the request, so it cannot show a task what only
# the master may give it. docs/operate/ingress.md compares it with Traefik.

variable "job" {
  type        = string
  default     = "det-fabio"
  description = "Name of the job, and of the Nomad variable with its secrets (nomad/jobs/<job>)."
}

variable "namespace" {
  type    = string
  default = "default"
}

variable "datacenters" {
  type    = list(string)
  default = ["*"]
}

variable "node_pool" {
  type    = string
  default = "default"
}

variable "driver" {
  type        = string
  default     = "docker"
  description = "docker or podman with an image; raw_exec with a binary."
}

variable "image" {
  type        = string
  default     = "fabiolb/fabio:1.6.3"
  description = "Container image with Fabio (docker and podman)."
}

variable "binary" {
  type        = string
  default     = "/usr/local/bin/fabio"
  description = "Path of Fabio on the node (raw_exec)."
}

variable "port" {
  type    = number
  default = 443
}

variable "tls" {
  type        = bool
  default     = true
  description = "Serve HTTPS, with cert and key of the job's Nomad variable: a certificate for the host and for *.<tasks_domain>."
}

variable "consul_addr" {
  type        = string
  default     = "127.0.0.1:8500"
  description = "Host and port of Consul's API."
}

variable "count" {
  type        = number
  default     = 1
  description = "Number of Fabios, each on a node of its own."
}

locals {
  is_container = contains(["docker", "podman"], var.driver)
}

job "det-fabio" {
  id          = var.job
  name        = var.job
  type        = "service"
  namespace   = var.namespace
  datacenters = var.datacenters
  node_pool   = var.node_pool
  priority    = 80

  ui {
    description = "Fabio in front of a Detent cluster: users reach the masters through it."
  }

  group "fabio" {
    count = var.count

    restart {
      attempts = 20
      interval = "30s"
      delay    = "250ms"
      mode     = "delay"
    }

    dynamic "constraint" {
      for_each = var.count > 1 ? [true] : []
      content {
        operator = "distinct_hosts"
        value    = "true"
      }
    }

    network {
      mode = "host"

      port "http" {
        static = var.port
      }
    }

    task "fabio" {
      driver = var.driver

      identity {
        env = true
      }

      config {
        command      = local.is_container ? null : var.binary
        args         = ["-cfg", "${NOMAD_SECRETS_DIR}/fabio.properties"]
        image        = local.is_container ? var.image : null
        network_mode = local.is_container ? "host" : null
      }

      template {
        destination = "secrets/fabio.properties"
        perms       = "0600"
        data        = <<-EOT
        %{~if var.tls~}
        proxy.cs = cs=det;type=file;cert={{ env "NOMAD_SECRETS_DIR" }}/cert.pem;key={{ env "NOMAD_SECRETS_DIR" }}/key.pem
        proxy.addr = :${var.port};cs=det
        %{~else~}
        proxy.addr = :${var.port}
        %{~endif~}
        # The pages of Fabio itself are for this node.
        ui.addr = 127.0.0.1:9998
        # <task>.<domain> is not a host of its own in a tag, but a pattern.
        glob.matching.disabled = false
        registry.consul.addr = ${var.consul_addr}
        # Fabio has no service of its own to register.
        registry.consul.register.enabled = false
        {{- if nomadVarExists "nomad/jobs/${var.job}" }}{{ with nomadVar "nomad/jobs/${var.job}" }}{{ with print .consul_token }}
        registry.consul.token = {{ . }}
        {{- end }}{{ end }}{{ end }}
        EOT
      }

      dynamic "template" {
        for_each = var.tls ? ["cert", "key"] : []
        content {
          destination = "secrets/${template.value}.pem"
          perms       = "0600"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job}\" }}{{ .${template.value} }}\n{{ end }}"
        }
      }

      resources {
        cpu    = 500
        memory = 128
      }
    }
  }
}
