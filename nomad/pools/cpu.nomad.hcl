# A pool of CPU slots on machines that several people use. Under exec Nomad gives each task
# a root of its own, cgroups, and here an account without rights.
#
#   resource_pools:
#     - name: cpu
#       job: cpu.nomad.hcl
#
# The nodes need no image and no container runtime; what tasks find of the machine is the
# client's chroot_env.
job "cpu" {
  datacenters = ["*"]
  node_pool   = "default"
  priority    = 40

  # Only these nodes count as the pool's.
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  constraint {
    attribute = "${attr.cpu.arch}"
    operator  = "set_contains_any"
    value     = "amd64,arm64"
  }

  # Machines with a GPU are for others, while there are machines without.
  affinity {
    attribute = "${node.class}"
    value     = "gpu"
    weight    = -50
  }

  group "tasks" {
    # Experiments may mount it: environment.nomad.volumes: [{name: datasets, container_path: /data}].
    volume "datasets" {
      type      = "host"
      source    = "datasets"
      read_only = true
    }

    ephemeral_disk {
      size = 2000
    }

    task "main" {
      driver = "exec"
      user   = "nobody"

      # Each slot is one whole core that nobody else's task runs on, and 4 GB of memory,
      # up to 8 GB while the node has it (with the scheduler's memory oversubscription on).
      resources {
        cores      = 1
        memory     = 4096
        memory_max = 8192
      }

      env {
        OMP_NUM_THREADS = "1"
      }

      kill_timeout = "60s"
    }
  }
}
