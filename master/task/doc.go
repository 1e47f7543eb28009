// Package task describes an attempt of a task: the Nomad job that runs it
// (jobspecs.Task), what its credentials allow (Grants), and what its runner starts
// (v1.TaskSpec).
//
// Package attempts reads an attempt's Row, Read parses its configuration once, and Site adds the
// settings of the installation. The control loop calls Job for a submission, and the API
// calls Spec when a runner's claim is accepted, so that a job and its program agree.
//
// Everything here is pure: the inputs are the columns of the row and the fields of the site.
package task
