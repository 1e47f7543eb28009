// Package bulletin shows on Nomad's own pages which GPUs of a node are out of use,
// and why.
//
// Nomad keeps the health of devices, with a reason, but shows it on none of its
// pages. The health of drivers it shows: on the page of a client, in "nomad node
// status", and as an event of the node for each change. So det-gpu is also a
// driver, by the name of det-gpu-health, that runs no tasks and is as healthy as
// the node's GPUs. It needs no right in Nomad, because clients ask their plugins.
//
// Nomad starts the two as processes of their own. The device plugin judges, and
// leaves what it tells Nomad as a notice (notice.go) in a folder that is theirs
// alone; the driver (driver.go) passes that on.
package bulletin
