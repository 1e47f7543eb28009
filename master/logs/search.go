package logs

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxSearchText = 500 // bytes
	usualFound    = 20
	maxFound      = 100
	searchTime    = 3 * time.Second  // for which one call searches
	searchShort   = time.Second      // for which it searches if other users wait
	searchWait    = 20 * time.Second // for a turn; a user has one, so some thirty users get theirs in this time
)

// search searches the logs of all tasks that the caller may view, for a bounded time.
func (d Deps) search(ctx context.Context, c *rest.Call, req *v1.SearchLogsRequest) (*v1.SearchLogsResponse, error) {
	q := Search{Within: searchTime, Limit: usualFound}
	if req.Limit != nil {
		q.Limit = *req.Limit
	}
	switch q.Text = strings.TrimSpace(req.SearchText); {
	case q.Text == "":
		return nil, fault.New(fault.Invalid, "searchText: name the text to search for")
	case len(q.Text) > maxSearchText:
		return nil, fault.New(fault.Invalid, "searchText: the text has %d bytes; %d are allowed", len(q.Text), maxSearchText)
	}
	var err error
	if q.Limit < 1 || q.Limit > maxFound {
		return nil, fault.New(fault.Invalid, "limit: expected a number from 1 to %d, found %d", maxFound, q.Limit)
	}
	if req.Before != "" {
		if q.From, err = placeOf(req.Before); err != nil {
			return nil, err
		}
	}
	c.EndReading() // who waits here for a search must not keep others from reading
	waiting, stop := context.WithTimeout(ctx, searchWait)
	defer stop()
	turn, err := d.Limits.Searches.Take(waiting, c.Owner(), 1)
	if err != nil {
		return nil, fault.Wrap(fault.TooMany, err, "the master searches logs at most %d times at the same time for one user, and %d times in total; try again in a moment", maxSearchesPerUser, maxSearches)
	}
	defer turn.Release()
	if d.Limits.Searches.Contended() {
		q.Within = searchShort
	}
	out, err := d.Store.Search(database.UnlimitedReads(ctx), c.Scope(), q) // it reads piece by piece, for a limited time
	if err != nil {
		return nil, err
	}
	resp := &v1.SearchLogsResponse{Found: each.Of(out.Found, wireFound)}
	if out.Next != nil {
		next := placeText(*out.Next)
		resp.Next, resp.SearchedTo = &next, out.Next.EndedAt
	}
	return resp, nil
}

func wireFound(f Found) v1.FoundLog {
	w := v1.FoundLog{TaskID: trial.PartID(f.ID, f.Part), TaskType: v1.TaskType("TASK_TYPE_" + f.Type), Name: f.Name, Username: f.Owner, ExperimentID: f.ExperimentID, TrialID: f.TrialID, EndTime: f.EndedAt, More: f.Continued}
	for _, l := range f.Lines {
		line := v1.FoundLine{ID: wireNumber(l.Number), Level: levels[l.Level], Timestamp: l.At, Log: l.Text}
		if l.Rank >= 0 {
			line.RankID = &l.Rank
		}
		w.Lines = append(w.Lines, line)
	}
	return w
}

// placeText writes a place for the query of the next call: the end of its task in microseconds, or nothing, the
// log, and a line.
func placeText(p Place) string {
	ended := ""
	if p.EndedAt != nil {
		ended = wireNumber(p.EndedAt.UnixMicro())
	}
	return strings.Join([]string{ended, strconv.Itoa(p.Log), wireNumber(p.Before)}, ".")
}

func placeOf(text string) (p Place, err error) {
	wrong := fault.New(fault.Invalid, "before: expected the value of next of an earlier answer, found %q", fault.Clip(text))
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return p, wrong
	}
	if parts[0] != "" {
		micros, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil || micros < 0 || micros > maxPlaceTime {
			return p, wrong
		}
		at := time.UnixMicro(micros).UTC()
		p.EndedAt = &at
	}
	if p.Log, err = rest.Number(parts[1]); err != nil || p.Log < 1 {
		return p, wrong
	}
	if p.Before, err = strconv.ParseInt(parts[2], 10, 64); err != nil || p.Before < 0 {
		return p, wrong
	}
	return p, nil
}

// maxPlaceTime is the year 2286, in microseconds.
const maxPlaceTime = 1e16
