// Package integration has no code: the folders below hold the end-to-end tests of what
// Detent promises, on real servers: PostgreSQL, Consul, Nomad, the master as a Nomad job,
// tasks as processes, and other people's clients.
//
//	experiments  from an experiment's creation to its best checkpoint; searches, bad input, GPUs
//	faults       servers, nodes and masters die, hang, forget or fill up
//	storage      checkpoints on disks and in S3, and their removal
//	containers   Docker, Podman, bridges, exec, pools' jobs, memory
//	clients      det, Determined's own client, notebooks, shells, TensorBoard
//	frameworks   PyTorch, Keras, the experiments of 2022; four nodes that teams share
//	pages        the pages in Chromium
//	guides       README, tutorial and install guide, word by word
//	security     access control and TLS
//	again        repeats failed tests once, at the end of a run; a program, without a cluster
//	house        which package imports which, and how large each is; without a cluster
//	bench        benchmarks
//
// Package rig starts a local cluster for each package, with the programs built from this
// checkout. The tests of a package share its cluster and use experiments of their own. A
// test that kills or breaks parts of the cluster puts them back before it ends. Packages
// run side by side: a test uses free ports and folders of its own, and nothing else that
// the machine has once.
package integration
