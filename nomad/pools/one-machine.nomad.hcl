# A pool on one person's machine: tasks run as the processes of one user, without images.
# Nothing keeps a task from reading what another one may read, so the master wants
# `shared_raw_exec: true` before it listens for others with such a pool.
#
#   resource_pools:
#     - name: default
#       job: one-machine.nomad.hcl
job "one-machine" {
  group "tasks" {
    task "main" {
      driver = "raw_exec"

      # What each slot of a node is: so much of its cores and its memory. A node has as
      # many slots as it has room for.
      resources {
        cpu    = 1000
        memory = 1024
      }

      kill_timeout = "30s"
    }
  }
}
