# det-notice on the nodes of a cloud, as one Nomad job: it turns the notice that a machine is taken back into metadata of
# its node, which the masters of Detent read.
#
#   nomad job run -var binary=https://…/det-notice_linux_amd64.tar.gz notice.nomad.hcl
#
# docs/operate/pools.md#notices-of-clouds describes what it does and which right it needs.

variable "job" {
  type        = string
  default     = "det-notice"
  description = "Name of the job."
}

variable "namespace" {
  type        = string
  default     = "default"
  description = "Nomad namespace of the job. With ACLs a namespace of its own, because whoever may replace the job has its right to write nodes."
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
  type        = string
  default     = "all"
  description = "Node pool with the spot machines; all for the nodes of all pools."
}

variable "driver" {
  type        = string
  default     = "raw_exec"
  description = "raw_exec or exec with a binary; docker or podman with an image."
}

variable "binary" {
  type        = string
  default     = "/usr/local/bin/det-notice"
  description = "The program: a path on the nodes, or the URL of a file det-notice or of an archive that contains it (raw_exec and exec)."
}

variable "checksum" {
  type        = string
  default     = ""
  description = "Checksum of the file at the URL, as \"sha256:…\"."
}

variable "image" {
  type        = string
  default     = ""
  description = "Container image with det-notice on its PATH, such as the one of det-master (docker and podman)."
}

variable "user" {
  type        = string
  default     = ""
  description = "Account that the program runs as; empty for the driver's default. As root, the program becomes account 65534 when it has found Nomad's socket."
}

variable "cloud" {
  type        = string
  default     = "auto"
  description = "aws, google or azure; auto asks the metadata service which one it is of."
}

variable "rebalance" {
  type        = bool
  default     = false
  description = "Count AWS's recommendations to leave a machine, too. They say no time, and AWS does not withdraw them."
}

variable "maintenance" {
  type        = bool
  default     = true
  description = "Count maintenance by Google and Azure that ends what runs on a machine."
}

variable "metadata" {
  type        = string
  default     = ""
  description = "Address of the metadata service, for a try with a service of your own; empty for the cloud's."
}

locals {
  is_url       = length(split("://", var.binary)) > 1
  is_container = contains(["docker", "podman"], var.driver)
  flags = concat(["-cloud=${var.cloud}", "-rebalance=${var.rebalance}", "-maintenance=${var.maintenance}"],
  var.metadata == "" ? [] : ["-metadata=${var.metadata}"])

  # A fetched file has lost its execute bit, and may belong to another account than that of the task.
  fetched = <<-EOT
  p="$NOMAD_TASK_DIR/det-notice"
  [ -x "$p" ] || { cp "$p" "$p.run" && chmod 0755 "$p.run" && p="$p.run"; }
  exec "$p" "$@"
  EOT
}

job "det-notice" {
  id          = var.job
  name        = var.job
  type        = "system"
  region      = var.region
  namespace   = var.namespace
  datacenters = var.datacenters
  node_pool   = var.node_pool
  priority    = 80 # above the tasks, which it warns

  ui {
    description = "Watches whether a cloud takes the machines of these nodes back, and sets the metadata detent.leaving of a node when it does."
  }

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  group "notice" {
    # A program without its right ends, and says what is missing.
    restart {
      attempts = 4
      interval = "1m"
      delay    = "15s"
      mode     = "delay"
    }

    task "notice" {
      driver = var.driver
      user   = var.user

      # The socket of Nomad's API in the task's secrets leads to the client of this node, and accepts this identity. It is
      # in no file, which other tasks of the account could read.
      identity {
        env = true
      }

      config {
        command = local.is_container ? "det-notice" : local.is_url ? "/bin/sh" : var.binary
        args    = local.is_url && !local.is_container ? concat(["-c", local.fetched, "det-notice"], local.flags) : local.flags
        image   = local.is_container ? var.image : null

        # The metadata service answers the network of the node: AWS's does not answer behind a bridge.
        network_mode = local.is_container ? "host" : null
      }

      dynamic "artifact" {
        for_each = local.is_url && !local.is_container ? [var.binary] : []
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

      resources {
        cpu    = 20
        memory = 32
      }

      logs {
        max_files     = 2
        max_file_size = 1
      }
    }
  }
}
