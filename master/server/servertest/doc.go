// Package servertest starts a master for tests of its clients: the real API and control loop,
// over HTTP, on a PostgreSQL database of the test.
//
// Nomad is clustertest's in-memory Nomad, which tests compare with the real one. The nodes run
// no det-runner: each attempt is a Program, Go code of the test that claims the attempt with
// its workload identity and sends the reports of programs and runners through the API. So the
// master makes everything that a client sees from requests.
//
// Clients reach the master through a Front, which records their requests and can answer instead
// of the master, to inject faults.
//
// The package is for tests only; integration/house keeps it out of programs.
package servertest
