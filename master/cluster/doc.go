// Package cluster is Nomad: it submits and stops the jobs of attempts, says what
// Nomad knows of them, lists the nodes, and verifies workload identities. Beside
// jobspecs it is the only package that knows Nomad's API.
//
// A Cluster (cluster.go) holds the client. Changes go through Submit and Stop
// (submit.go), whose answers are told apart in one table (errors.go). Observe
// (observe.go) answers in two ways: between full lists it reads the allocations
// that the event stream (stream.go) has named; every fifteen seconds, and
// whenever a stream had to be opened anew, it lists everything (list.go),
// because the stream drops events without a word. Facts (facts.go) and slots
// (slots.go) are pure.
//
// It never concludes more than it knows. A token without rights is answered with
// an empty list, a Nomad that was restored from a backup with an old one; what
// is missing from a list counts as gone only when the list is as new as any
// before, when reading the job itself says that it does not exist, and when not
// too much is missing at once. Otherwise the observation carries an Alarm.
//
// Only jobs of this cluster are seen or touched: their ids begin with det-, and
// their metadata names the cluster. Package clustertest has a Nomad in memory
// for tests of others, and the suite that holds it to the real one.
package cluster
