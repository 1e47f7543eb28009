// Package about is the room of what a cluster and its masters tell about themselves: their names and versions, their health and
// measurements, the message of the administrators to all users, and the documents of the interfaces. Administrators change some settings of all
// masters here, and profile a master. The files, in the order in which one reads them:
//
//	routes.go          the endpoints, and what they use of others
//	info.go            names, versions and identity providers, for clients that connect
//	message.go         the message to all users
//	settings.go        read the configuration, and change the settings that masters apply while they run
//	rows.go            the rows of the message and of the settings
//	health.go          the health of a master for load balancers, and measurements for Prometheus
//	profiles.go        profiles of Go's runtime
//	python_page.go     the reference of the Python package
//
// This room is above nodes and the queue, whose gauges it writes.
package about
