// Package plugin is det-gpu as Nomad sees it: a device plugin.
//
// Nomad starts the program, gives it the agent's configuration (config.go), and
// from then on is told which GPUs there are and how they are (fingerprint.go),
// what they do (stats.go), and asks what a task needs to use those that it was
// given (reserve.go).
//
// A fingerprint never ends with an error: Nomad would give the plugin up, and
// forget the node's GPUs for good. Whatever is wrong is said of the GPUs.
package plugin
