package v1

import "time"

// AuditEntry is an entry of the audit trail: a call that changed something, opened a task, signed
// in, or read what belongs to somebody else.
type AuditEntry struct {
	ID          int64      `json:"id"`
	Time        time.Time  `json:"time"`
	EndTime     *time.Time `json:"endTime"`            // null: the master ended before the call did, so its result is unknown
	LastTime    *time.Time `json:"lastTime,omitempty"` // of the last of several equal calls
	Times       int        `json:"times"`
	UserID      *int       `json:"userId"` // null: nobody signed in
	Username    string     `json:"username"`
	Credential  string     `json:"credential"`
	Address     string     `json:"address"`
	Method      string     `json:"method"`
	Path        string     `json:"path"`
	Verb        string     `json:"verb"`
	Kind        string     `json:"kind"`
	Object      string     `json:"object"`
	WorkspaceID *int       `json:"workspaceId"`
	Names       Struct     `json:"names,omitempty"` // what the body names
	Status      *int       `json:"status"`
	Error       string     `json:"error,omitempty"`
}

// AuditResponse is a message of the API. Next is the value of before for older entries; null at
// the end.
type AuditResponse struct {
	Entries []AuditEntry `json:"entries"`
	Next    *int64       `json:"next"`
}
