# Parts of GPUs: NVIDIA's MIG cuts one A100, H100 or later into up to seven, each with
# memory of its own. The device plugin shows each part as a device; a slot is one part. All
# parts of a task are of one size, so give each size a pool, by the model in `device`.
#
#   resource_pools:
#     - name: mig-small
#       job: mig.nomad.hcl
#       slots: device
#       device: nvidia/gpu/NVIDIA H100 80GB HBM3 MIG 1g.10gb
#
# A program sees one part at most: MIG has no peer access, so ask for one slot a trial.
job "mig" {
  node_pool = "gpu"

  constraint {
    attribute = "${meta.mig}"
    value     = "1g.10gb"
  }

  group "tasks" {
    task "main" {
      driver = "docker"

      config {
        network_mode = "bridge"
        shm_size     = 2147483648
      }

      resources {
        cpu        = 4000
        memory     = 16384
        memory_max = 24576
      }

      kill_timeout = "60s"
    }
  }
}
