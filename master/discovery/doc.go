// Package discovery finds the addresses of an attempt's members and of the masters, in Consul's
// catalogue, or in Nomad's own services if a site runs no Consul.
//
// It returns a registration regardless of its health check: a process that has just started has not
// passed its check yet. A missing registration does not end an attempt: runners report to the master
// that their members run; this package only adds the addresses.
package discovery
