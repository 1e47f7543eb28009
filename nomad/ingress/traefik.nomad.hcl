# Traefik in front of a Detent cluster, as one Nomad job:
#
#   nomad var put nomad/jobs/det-traefik cert=@wildcard.pem key=@wildcard.key
#   nomad job run -var domain=tasks.example.com -var host=detent.example.com traefik.nomad.hcl
#
# Requests for <task>.<domain> go to the task directly, and Traefik asks a master about each. Requests for
# the host, and for tasks that have no service yet, go to the masters. docs/operate/ingress.md describes
# the configuration of the master that belongs to it.

variable "job" {
  type        = string
  default     = "det-traefik"
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
  default     = "traefik:v3.6.1"
  description = "Container image with Traefik (docker and podman)."
}

variable "binary" {
  type        = string
  default     = "/usr/local/bin/traefik"
  description = "Path of Traefik on the node (raw_exec)."
}

variable "domain" {
  type        = string
  description = "The domain in which each task has a host name: tasks_domain of the master's configuration, without a port."
}

variable "host" {
  type        = string
  default     = ""
  description = "Host name of the masters; empty if users do not reach them through this Traefik."
}

variable "masters" {
  type        = list(string)
  default     = ["http://127.0.0.1:8080"]
  description = "Addresses of the masters as Traefik reaches them."
}

variable "address" {
  type        = string
  default     = ""
  description = "Address to listen on; empty for all."
}

variable "port" {
  type        = number
  default     = 443
  description = "Port of the entrypoint websecure, or of web without TLS."
}

variable "tls" {
  type        = bool
  default     = true
  description = "Serve HTTPS, with cert and key of the job's Nomad variable: a certificate for *.<domain>, and for the host."
}

variable "catalogue" {
  type        = string
  default     = "consul"
  description = "Where the services of tasks are: consul, or nomad for Nomad's own services."
}

variable "consul_addr" {
  type    = string
  default = "http://127.0.0.1:8500"
}

variable "nomad_addr" {
  type    = string
  default = "http://127.0.0.1:4646"
}

variable "count" {
  type        = number
  default     = 1
  description = "Number of Traefiks, each on a node of its own."
}

locals {
  is_container = contains(["docker", "podman"], var.driver)
  entrypoint   = var.tls ? "websecure" : "web"
  pattern      = replace(var.domain, ".", "\\.")
}

job "det-traefik" {
  id          = var.job
  name        = var.job
  type        = "service"
  namespace   = var.namespace
  datacenters = var.datacenters
  node_pool   = var.node_pool
  priority    = 80

  ui {
    description = "Traefik in front of a Detent cluster: users reach masters and tasks through it."
  }

  group "traefik" {
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

    service {
      name     = var.job
      provider = var.catalogue
      port     = "http"

      check {
        type     = "tcp"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "traefik" {
      driver = var.driver

      identity {
        env  = true
        file = true
      }

      config {
        command      = local.is_container ? null : var.binary
        args         = ["--configFile=${NOMAD_SECRETS_DIR}/traefik.yml"]
        image        = local.is_container ? var.image : null
        network_mode = local.is_container ? "host" : null
      }

      # The static configuration. It contains the tokens for the catalogues.
      template {
        destination = "secrets/traefik.yml"
        perms       = "0600"
        data        = <<-EOT
        global:
          checkNewVersion: false
          sendAnonymousUsage: false
        entryPoints:
          ${local.entrypoint}:
            address: "${var.address}:${var.port}"
            asDefault: true
            transport:
              respondingTimeouts:
                # A notebook receives large files for as long as that takes.
                readTimeout: 0s
        providers:
          file:
            filename: {{ env "NOMAD_SECRETS_DIR" }}/routes.yml
        %{~if var.catalogue == "consul"~}
          consulCatalog:
            exposedByDefault: false
            watch: true
            endpoint:
              address: "${var.consul_addr}"
              {{- if nomadVarExists "nomad/jobs/${var.job}" }}{{ with nomadVar "nomad/jobs/${var.job}" }}{{ with print .consul_token }}
              token: {{ . | toJSON }}
              {{- end }}{{ end }}{{ end }}
        %{~else~}
          nomad:
            exposedByDefault: false
            refreshInterval: 2s
            namespaces: ["${var.namespace}"]
            endpoint:
              address: "${var.nomad_addr}"
        %{~endif~}
        EOT
      }

      # The routes that are no task's own.
      template {
        destination = "secrets/routes.yml"
        perms       = "0600"
        data        = <<-EOT
        http:
          serversTransports:
            # The runner of each task has a certificate of its own, which only masters can identify.
            det-tasks:
              insecureSkipVerify: true
              disableHTTP2: true
          routers:
            # Tasks without a service: queued ones, and those that have ended.
            det-other-tasks:
              rule: 'HostRegexp(`^[a-z0-9-]+\.${local.pattern}$`)'
              priority: 1
              service: det-masters
        %{~if var.tls~}
              tls: {}
        %{~endif~}
        %{~if var.host != ""~}
            det-masters:
              rule: 'Host(`${var.host}`)'
              service: det-masters
        %{~if var.tls~}
              tls: {}
        %{~endif~}
        %{~endif~}
          services:
            det-masters:
              loadBalancer:
                healthCheck:
                  path: /health
                  interval: 2s
                  timeout: 2s
                servers:
        %{~for address in var.masters~}
                  - url: "${address}"
        %{~endfor~}
        %{~if var.tls~}
        tls:
          stores:
            default:
              defaultCertificate:
                certFile: {{ env "NOMAD_SECRETS_DIR" }}/cert.pem
                keyFile: {{ env "NOMAD_SECRETS_DIR" }}/key.pem
        %{~endif~}
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
        memory = 256
      }
    }
  }
}
