// Package updates has what the WebSocket /stream says, in the words of Determined 0.38.1: a client
// subscribes to projects, models and versions of models, and is sent every row that its subscription
// selects, then every later change. The client says which rows it knows already, so that after a
// broken connection it is sent only what it missed.
//
// Each change of a row gives the row the next sequence number. What a client is sent follows from
// two lists of rows with their numbers: those that it has been sent (Told), and those that its
// subscription selects now. Diff compares them. The package is pure: store reads the rows, and api
// has the WebSocket.
package updates

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// MaxRows is the maximum number of rows of a kind that one subscription may select, or a client may
// know.
const MaxRows = 20_000

// maxIDs is the maximum number of ids in a subscription.
const maxIDs = 1000

// A Row is a project, model or version with the sequence number of its newest change.
type Row struct {
	ID  int   `db:"id"`
	Seq int64 `db:"seq"`
}

// A Request is what a client sends: it replaces the subscription before.
type Request struct {
	SyncID    string    `json:"sync_id"`
	Known     Known     `json:"known"`
	Subscribe Subscribe `json:"subscribe"`
}

// Known has the ids that the client knows, such as "1-3,7".
type Known struct {
	Projects string `json:"projects"`
	Models   string `json:"models"`
	Versions string `json:"modelversions"`
}

// Subscribe selects rows of each kind. A client that knows rows of a kind without subscribing to it
// is told nothing about them.
type Subscribe struct {
	Projects *Filter `json:"projects"`
	Models   *Filter `json:"models"`
	Versions *Filter `json:"modelversions"`
}

// A Filter selects the rows that match one of its lists; without ids it selects none. Projects
// match WorkspaceIDs and ProjectIDs, models WorkspaceIDs, ModelIDs and UserIDs, versions VersionIDs,
// ModelIDs and UserIDs.
type Filter struct {
	WorkspaceIDs []int `json:"workspace_ids"`
	ProjectIDs   []int `json:"project_ids"`
	ModelIDs     []int `json:"model_ids"`
	VersionIDs   []int `json:"model_version_ids"`
	UserIDs      []int `json:"user_ids"`
	// Since is the largest sequence number that the client has seen.
	Since int64 `json:"since"`
}

// Parse reads and checks a message of a client.
func Parse(text []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fault.New(fault.Invalid, "the subscription is not valid JSON: %w", err)
	}
	if r.SyncID == "" || len(r.SyncID) > 100 {
		return r, fault.New(fault.Invalid, "sync_id: a text of 1 to 100 bytes is required")
	}
	for _, kind := range []struct {
		name string
		f    *Filter
		rest [][]int // lists that have no meaning for this kind
	}{
		{"projects", r.Subscribe.Projects, r.Subscribe.Projects.without(func(f *Filter) [][]int { return [][]int{f.ModelIDs, f.VersionIDs, f.UserIDs} })},
		{"models", r.Subscribe.Models, r.Subscribe.Models.without(func(f *Filter) [][]int { return [][]int{f.ProjectIDs, f.VersionIDs} })},
		{"modelversions", r.Subscribe.Versions, r.Subscribe.Versions.without(func(f *Filter) [][]int { return [][]int{f.ProjectIDs, f.WorkspaceIDs} })},
	} {
		if kind.f == nil {
			continue
		}
		if slices.ContainsFunc(kind.rest, func(ids []int) bool { return len(ids) > 0 }) {
			return r, fault.New(fault.Invalid, "subscribe.%s: it has ids that select no %s", kind.name, kind.name)
		}
		all := slices.Concat(kind.f.WorkspaceIDs, kind.f.ProjectIDs, kind.f.ModelIDs, kind.f.VersionIDs, kind.f.UserIDs)
		if len(all) > maxIDs {
			return r, fault.New(fault.Invalid, "subscribe.%s: %d ids; %d are allowed", kind.name, len(all), maxIDs)
		}
		for _, id := range all {
			if !isID(id) {
				return r, fault.New(fault.Invalid, "subscribe.%s: %d is not an id", kind.name, id)
			}
		}
		if kind.f.Since < 0 {
			return r, fault.New(fault.Invalid, "subscribe.%s.since: %d is less than 0", kind.name, kind.f.Since)
		}
	}
	return r, nil
}

// without returns the lists of a filter that its kind does not have.
func (f *Filter) without(lists func(*Filter) [][]int) [][]int {
	if f == nil {
		return nil
	}
	return lists(f)
}

// Empty reports whether the filter selects nothing.
func (f *Filter) Empty() bool {
	return f == nil || len(f.WorkspaceIDs)+len(f.ProjectIDs)+len(f.ModelIDs)+len(f.VersionIDs)+len(f.UserIDs) == 0
}

// Told returns the rows that a client knows, ordered by id. It has seen their changes up to since.
func Told(known string, since int64) ([]Row, error) {
	if known == "" {
		return nil, nil
	}
	var told []Row
	for part := range strings.SplitSeq(known, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || !isID(a) || !isID(b) || b < a {
			return nil, fault.New(fault.Invalid, "known: %q is neither an id nor a range of ids such as 3-7", fault.Clip(part))
		}
		if b-a >= MaxRows-len(told) {
			return nil, fault.New(fault.Invalid, "known: more than %d ids", MaxRows)
		}
		for id := a; id <= b; id++ {
			told = append(told, Row{ID: id, Seq: since})
		}
	}
	slices.SortFunc(told, func(x, y Row) int { return cmp.Compare(x.ID, y.ID) })
	return slices.CompactFunc(told, func(x, y Row) bool { return x.ID == y.ID }), nil
}

func isID(n int) bool { return n > 0 && n <= 1<<31-1 }

// Diff compares what a client was told with what its subscription selects now, both ordered by id:
// gone has the ids that it no longer selects, changed those that are new or have changed.
func Diff(told, now []Row) (gone, changed []int) {
	for len(told) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(told) > 0 && told[0].ID < now[0].ID:
			gone = append(gone, told[0].ID)
			told = told[1:]
		case len(told) == 0 || now[0].ID < told[0].ID:
			changed = append(changed, now[0].ID)
			now = now[1:]
		default:
			if now[0].Seq > told[0].Seq {
				changed = append(changed, now[0].ID)
			}
			told, now = told[1:], now[1:]
		}
	}
	return gone, changed
}

// Ranges writes ordered ids as a client reads them: "1-3,7".
func Ranges(ids []int) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		last := i
		for last+1 < len(ids) && ids[last+1] == ids[last]+1 {
			last++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ids[i]))
		if last > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(ids[last]))
		}
		i = last + 1
	}
	return b.String()
}

// A Message is what a client is sent. One field is set.
type Message struct {
	Project         *Project `json:"project,omitempty"`
	ProjectsDeleted string   `json:"projects_deleted,omitempty"`
	Model           *Model   `json:"model,omitempty"`
	ModelsDeleted   string   `json:"models_deleted,omitempty"`
	Version         *Version `json:"modelversion,omitempty"`
	VersionsDeleted string   `json:"modelversions_deleted,omitempty"`
}

// Sync says that the rows of a subscription follow, or that all were sent.
type Sync struct {
	SyncID   string `json:"sync_id"`
	Complete bool   `json:"complete"`
}

// A Project as a client is sent it.
type Project struct {
	ID          int             `json:"id" db:"id"`
	Name        string          `json:"name" db:"name"`
	Description string          `json:"description" db:"description"`
	Archived    bool            `json:"archived" db:"archived"`
	CreatedAt   time.Time       `json:"created_at" db:"created_at"`
	Notes       json.RawMessage `json:"notes" db:"notes"`
	WorkspaceID int             `json:"workspace_id" db:"workspace_id"`
	UserID      int             `json:"user_id" db:"owner_id"`
	Immutable   bool            `json:"immutable" db:"immutable"`
	State       string          `json:"state" db:"state"` // UNSPECIFIED, DELETING or DELETE_FAILED
	Key         string          `json:"key" db:"key"`
	Seq         int64           `json:"seq" db:"seq"`
}

// A Model as a client is sent it.
type Model struct {
	ID              int             `json:"id" db:"id"`
	Name            string          `json:"name" db:"name"`
	Description     string          `json:"description" db:"description"`
	Archived        bool            `json:"archived" db:"archived"`
	CreationTime    time.Time       `json:"creation_time" db:"created_at"`
	Notes           string          `json:"notes" db:"notes"`
	WorkspaceID     int             `json:"workspace_id" db:"workspace_id"`
	UserID          int             `json:"user_id" db:"owner_id"`
	LastUpdatedTime time.Time       `json:"last_updated_time" db:"modified_at"`
	Metadata        json.RawMessage `json:"metadata" db:"metadata"`
	Labels          []string        `json:"labels" db:"labels"`
	Seq             int64           `json:"seq" db:"seq"`
}

// A Version of a model as a client is sent it.
type Version struct {
	ID              int             `json:"id" db:"id"`
	Name            string          `json:"name" db:"name"`
	Version         int             `json:"version" db:"version"`
	Checkpoint      string          `json:"checkpoint_uuid" db:"checkpoint"`
	CreationTime    time.Time       `json:"creation_time" db:"created_at"`
	LastUpdatedTime time.Time       `json:"last_updated_time" db:"modified_at"`
	Metadata        json.RawMessage `json:"metadata" db:"metadata"`
	ModelID         int             `json:"model_id" db:"model_id"`
	UserID          int             `json:"user_id" db:"owner_id"`
	Comment         string          `json:"comment" db:"comment"`
	Labels          []string        `json:"labels" db:"labels"`
	Notes           string          `json:"notes" db:"notes"`
	WorkspaceID     string          `json:"workspace_id" db:"workspace"` // a text, as in Determined
	Seq             int64           `json:"seq" db:"seq"`
}
