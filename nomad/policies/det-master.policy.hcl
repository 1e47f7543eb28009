# What the master may do in Nomad, where ACLs are on. Attach it to the master's workload identity:
#
#   nomad acl policy apply -namespace default -job det-master det-master det-master.policy.hcl
#
# The namespace is the one that tasks run in: the master submits, reads and stops jobs there, follows
# their allocations, and reads the logs of those that failed before they could send any.
namespace "default" {
  policy       = "read"
  capabilities = ["list-jobs", "parse-job", "read-job", "submit-job", "read-logs", "read-fs", "alloc-lifecycle"]
}

# Nodes and what they offer, and draining ones, whose trials are asked to save their state.
node {
  policy = "read"
}

agent {
  policy = "read"
}

operator {
  policy = "read"
}
