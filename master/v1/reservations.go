package v1

import "time"

// The endpoints of reservations, which Determined does not have.
var (
	ListReservations = Endpoint[GetReservationsRequest, GetReservationsResponse]{Method: "GET", Path: "/detent/reservations", Access: ByBoth, Object: KindPool, Verb: View, List: true,
		Summary: "List the reservations of slots and the maintenances of nodes that have not ended"}
	CreateReservation = Endpoint[PostReservationRequest, Reservation]{Method: "POST", Path: "/detent/resource-pools/:pool/reservations", Access: ByUsers, Object: KindPool, Verb: Administer,
		Summary: "Reserve slots of a resource pool for a workspace or a user for a time, or take nodes of it out of use for a maintenance"}
	CancelReservation = Endpoint[None, Empty]{Method: "DELETE", Path: "/detent/reservations/:id", Access: ByUsers, Object: KindPool, Verb: Administer,
		Summary: "Cancel a reservation, or end it if it has begun"}
)

// A Reservation holds slots of a pool for the tasks of a workspace, a user, or a user in a workspace, for a time; or it takes nodes out of
// use: a maintenance. Of a workspace that the caller may not see, the names and the note are empty.
type Reservation struct {
	ID            int       `json:"id"`
	ResourcePool  string    `json:"resourcePool"`
	WorkspaceID   int       `json:"workspaceId"` // 0: of any
	WorkspaceName string    `json:"workspaceName"`
	UserID        int       `json:"userId"` // 0: of any
	Username      string    `json:"username"`
	Slots         int       `json:"slots"`  // 0 for a maintenance
	Agents        []string  `json:"agents"` // names of the nodes of a maintenance
	StartTime     time.Time `json:"startTime"`
	EndTime       time.Time `json:"endTime"`
	Note          string    `json:"note"`
	CreatedBy     string    `json:"createdBy"`
	Active        bool      `json:"active"` // it has begun
}

// GetReservationsResponse is the answer of ListReservations, the first to begin first.
type GetReservationsResponse struct {
	Reservations []Reservation `json:"reservations"`
	Pagination   Pagination    `json:"pagination"`
}

// Records returns the records of the page.
func (r GetReservationsResponse) Records() ([]Reservation, Pagination) {
	return r.Reservations, r.Pagination
}

// PostReservationRequest reserves slots for a workspace, a user or a user in a workspace, or takes agents out of use.
type PostReservationRequest struct {
	WorkspaceID int        `json:"workspaceId,omitempty"`
	UserID      int        `json:"userId,omitempty"`
	Slots       int        `json:"slots,omitempty"`
	Agents      []string   `json:"agents,omitempty"`    // ids or names of nodes
	StartTime   *time.Time `json:"startTime,omitempty"` // nil: now
	EndTime     time.Time  `json:"endTime"`
	Note        string     `json:"note,omitempty"`
}
