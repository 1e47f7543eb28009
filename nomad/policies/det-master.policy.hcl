# What the master may do in Nomad, where ACLs are on. Attach it to the master's workload identity:
#
#   nomad acl policy apply -namespace default -job det-master det-master det-master.policy.hcl
#
# The namespace is the one that tasks run in: the master submits, plans and stops jobs there and follows
# their allocations and services. Repeat the block for each namespace where there are several.
namespace "default" {
  #
  # read-fs: what a task could report to no master, its exit and its last lines, the master reads on its
  # node. Without it such a task counts as one that ended without a report.
  capabilities = ["list-jobs", "read-job", "submit-job", "read-fs"]

  # What only one task's job may read, such as the password of the registry that its image is in: written
  # before the job is registered and removed when it is over.
  variables {
    path "nomad/jobs/det-*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}

# Nodes and what they offer, and draining ones, whose trials are asked to save their state.
node {
  policy = "read"
}
