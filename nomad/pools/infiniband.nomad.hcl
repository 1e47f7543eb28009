# GPUs whose nodes are joined by InfiniBand or RoCE. NCCL uses it only where a container has
# the devices of RDMA and may lock memory; without either it falls back to TCP and says so
# in its own log alone (NCCL_DEBUG=INFO).
#
#   resource_pools:
#     - name: infiniband
#       job: infiniband.nomad.hcl
#       slots: device
#       device: nvidia/gpu
#
# The nodes' docker plugin must allow the capability: allow_caps = [..., "ipc_lock"].
job "infiniband" {
  node_pool   = "gpu"
  datacenters = ["east-*"]

  constraint {
    attribute = "${meta.fabric}"
    value     = "infiniband"
  }

  group "tasks" {
    network {
      mode = "host" # RDMA goes past bridges
    }

    task "main" {
      driver = "docker"

      config {
        network_mode = "host"
        ipc_mode     = "host"
        cap_add      = ["IPC_LOCK"]

        # Each card's verbs device, and the connection manager. Not all of
        # /dev/infiniband: umad and issm configure the fabric.
        devices = [
          { host_path = "/dev/infiniband/rdma_cm", container_path = "/dev/infiniband/rdma_cm" },
          { host_path = "/dev/infiniband/uverbs0", container_path = "/dev/infiniband/uverbs0" },
          { host_path = "/dev/infiniband/uverbs1", container_path = "/dev/infiniband/uverbs1" },
        ]

        ulimit {
          memlock = "-1"
        }
      }

      env {
        NCCL_IB_HCA        = "mlx5"
        NCCL_SOCKET_IFNAME = "^lo,docker0"
      }

      kill_timeout = "2m"
    }
  }
}
