// Package discovery says where things are: the members of an attempt, by what
// Consul's catalogue, or where there is no Consul Nomad's own, has registered
// for them. It is the only package that imports consul/api.
//
// Health is not asked: a check lags behind its process by an interval, and the
// runner's own call to the master says sooner and better that it is there.
package discovery
