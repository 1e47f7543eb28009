# What det-notice may do in Nomad, where ACLs are on. Attach it to the workload identity of its job:
#
#   nomad acl policy apply -namespace det-notice -job det-notice det-notice det-notice.policy.hcl
#
# Nomad has no narrower right for the metadata of a node: this one is for all nodes, and also for drains. So the job has a
# namespace of its own, in which nobody else may submit jobs: whoever may replace the job has its right.
node {
  policy = "write"
}
