# The folder of PostgreSQL's files, on a node that Nomad chooses; postgres.nomad.hcl uses it:
#
#   nomad volume create postgres.volume.hcl
#
# Nomad 1.10 and later make such a folder by themselves. To choose the node, add: node_id = "…".

name      = "det-postgres"
type      = "host"
plugin_id = "mkdir"

capability {
  access_mode     = "single-node-single-writer"
  attachment_mode = "file-system"
}
