// Package plugin is det-gpu's interface to Nomad: a device plugin.
//
// Nomad starts the program and sends the agent's configuration (config.go). The plugin then reports
// the GPUs and their health (fingerprint.go) and their use (stats.go), and answers what a task
// needs to use its GPUs (reserve.go).
//
// A fingerprint never ends with an error: Nomad would stop the plugin, and forget the node's GPUs
// for good. Problems are reported as the health of the GPUs.
package plugin
