// Package task describes an attempt of a task: the Nomad job that runs it
// (jobspecs.Task), what its credentials allow (Grants), and what its runner starts
// (v1.TaskSpec).
//
// package store reads an attempt's Row, Read parses its configuration, once, and Site
// adds what the installation says. The control loop describes jobs, the API describes
// to a runner that has passed the gate what to start; both come here, so that a job and
// its program agree.
//
// Everything here is pure: whatever a description needs is a column of the row, or a
// field of the site.
package task
