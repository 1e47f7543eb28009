// Package audit is the room of the audit trail: who did what, from where and with which credential. The files, in the order in which one
// reads them:
//
//	rows.go     entries, and how long they are kept
//	trail.go    what rest calls around each handler: the entry before a change, the result after it, limits for each caller
//	reports.go  the same for what users report
//	list.go     the endpoint that lists entries
//
// A handler completes the entry of its call: NoteUser says who signs in, Note what was done, Of returns the entry itself. What happens
// without a call is stored with Begin, in the transaction that does it.
package audit
