// Package live is the room of streams that keep clients up to date. Files, in reading order:
//
//	routes.go              the endpoints, and what they use of others
//	changes.go             StateFeed: what has changed, read once for all streams of a master
//	page_stream.go         the stream of a page: changes of experiments and lists, and the reports of trials
//	determined_stream.go   Determined's stream of projects, models and versions
//	rows_updates.go        the rows of that stream
//	updates/               pure: which changes a client of Determined's stream has received, and which it receives next
package live
