# Tasks in images without a Docker daemon. The nodes have Podman and Nomad's driver for it
# (nomad-driver-podman, a plugin of its own), with volumes enabled in its configuration:
#
#   plugin "nomad-driver-podman" {
#     config {
#       recover_stopped     = false
#       client_http_timeout = "1h"
#       volumes { enabled = true }
#     }
#   }
#
#   resource_pools:
#     - name: podman
#       job: podman.nomad.hcl
#       task_container_defaults: {image: registry.example/ml/base:1}
job "podman" {
  constraint {
    attribute = "${attr.driver.podman.version}"
    operator  = "version"
    value     = ">= 4.0"
  }

  group "tasks" {
    task "main" {
      driver = "podman"

      config {
        network_mode = "host"

        ulimit {
          nofile = "65536:65536"
        }
      }

      # Podman limits a task to its memory, or to memory_max where that is said.
      resources {
        cpu        = 1000
        memory     = 2048
        memory_max = 4096
      }
    }
  }
}
