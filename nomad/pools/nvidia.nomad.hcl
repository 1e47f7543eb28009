# GPUs of NVIDIA, tasks in images. The nodes have Docker with NVIDIA's runtime
# (nvidia-container-toolkit) and a device plugin, Detent's det-gpu or HashiCorp's.
#
#   resource_pools:
#     - name: gpu
#       job: nvidia.nomad.hcl
#       slots: device
#       device: nvidia/gpu
#       task_container_defaults: {image: {cuda: registry.example/ml/torch:2.9}}
#       docker: {allowed_host_paths: [/data/*]}
job "nvidia" {
  node_pool = "gpu"

  constraint {
    attribute = "${attr.driver.docker.runtimes}"
    operator  = "regexp"
    value     = "nvidia"
  }

  group "tasks" {
    # A data set that all tasks see, from a storage plugin (CSI).
    volume "shared" {
      type            = "csi"
      source          = "shared-datasets"
      access_mode     = "multi-node-reader-only"
      attachment_mode = "file-system"
      read_only       = true
    }

    task "main" {
      driver = "docker"

      config {
        # Tasks on one node are on a network that keeps them from each other
        # (nomad/docker/network.sh). Tasks on several nodes use the nodes' networks.
        network_mode = "detent"
        shm_size     = 8589934592

        ulimit {
          nofile = "1048576"
          stack  = "67108864"
        }
      }

      volume_mount {
        volume      = "shared"
        destination = "/datasets"
        read_only   = true
      }

      # A node's memory is shared out among its GPUs; memory = 65536 would give each 64 GB.
      kill_timeout = "2m"

      logs {
        max_files     = 5
        max_file_size = 20
      }
    }
  }
}
