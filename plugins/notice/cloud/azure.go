package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Azure lists what will happen to a machine and to the others of its set: at least half a minute before it evicts a spot
// machine, minutes before maintenance.
const (
	azurePause  = 2 * time.Second
	azureName   = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
	azureEvents = "/metadata/scheduledevents?api-version=2020-07-01"
	maxEvents   = 1 << 20 // bytes of the list; a set has hundreds of machines
	// firstWithin is for the first request, with which Azure begins to make the list.
	firstWithin = 150 * time.Second
	// maxNameLength bounds the name of a machine: Azure's own bound is 64, and a machine of a scale set adds a number.
	maxNameLength = 128
)

type azure struct {
	service
	options Options
	now     func() time.Time

	name    string               // of this machine, in the list
	asked   bool                 // the list exists
	started map[string]time.Time // when this process first saw that an event has begun, by its id
}

func (z *azure) Name() string { return "Azure" }

func (z *azure) Pause() time.Duration { return azurePause }

// azureHeader proves that a request comes from no page in a browser.
func azureHeader() map[string]string { return map[string]string{"Metadata": "true"} }

func (z *azure) Look(ctx context.Context) (*Notice, error) {
	if z.name == "" {
		got, err := z.ask(ctx, request{method: http.MethodGet, path: azureName, header: azureHeader()})
		if err != nil {
			return nil, err
		}
		if z.name, err = azureMachine(got); err != nil {
			return nil, err
		}
	}
	within := answerWithin
	if !z.asked {
		within = firstWithin
	}
	got, err := z.ask(ctx, request{method: http.MethodGet, path: azureEvents, header: azureHeader(), within: within, most: maxEvents})
	if err != nil {
		return nil, err
	}
	events, err := azureList(got)
	if err != nil {
		return nil, err
	}
	z.asked = true
	return z.notice(events), nil
}

// An event is an entry of Azure's list.
type event struct {
	ID        string   `json:"EventId"`
	Type      string   `json:"EventType"`
	Status    string   `json:"EventStatus"`
	Resources []string `json:"Resources"` // names of machines
	NotBefore string   `json:"NotBefore"` // empty once the event has begun
}

// azureMachine reads the name of this machine.
func azureMachine(a answer) (string, error) {
	name := strings.TrimSpace(string(a.body))
	if a.status != http.StatusOK || name == "" || len(name) > maxNameLength || strings.ContainsAny(name, "<>{}\r\n") {
		return "", unexpected(azureName, a)
	}
	return name, nil
}

// azureList reads the list of events.
func azureList(a answer) ([]event, error) {
	if a.status != http.StatusOK {
		return nil, unexpected(azureEvents, a)
	}
	var said struct{ Events *[]event }
	if err := json.Unmarshal(a.body, &said); err != nil {
		return nil, fmt.Errorf("%w: %w", unexpected(azureEvents, a), err)
	}
	if said.Events == nil {
		return nil, unexpected(azureEvents, a)
	}
	return *said.Events, nil
}

// notice is the soonest of the events that end what runs on this machine.
func (z *azure) notice(events []event) *Notice {
	var first *Notice
	begun := map[string]time.Time{}
	for _, e := range events {
		if !z.concerns(e) {
			continue
		}
		why := azureWhy(e.Type, z.options.Maintenance)
		if why == "" {
			continue
		}
		n := &Notice{Why: why}
		if at, err := http.ParseTime(e.NotBefore); err == nil {
			n.At = plausible(at, z.now())
		}
		if n.At.IsZero() && e.Status == "Started" {
			since, seen := z.started[e.ID]
			if !seen {
				since = z.now()
			}
			begun[e.ID] = since
			n.At, n.Counted = since.UTC(), true
		}
		first = sooner(first, n)
	}
	z.started = begun
	return first
}

// concerns reports whether an event is about this machine.
func (z *azure) concerns(e event) bool {
	for _, name := range e.Resources {
		if strings.EqualFold(name, z.name) {
			return true
		}
	}
	return false
}

// azureWhy says what an event does; "" for one that leaves the tasks of the machine running: a pause of seconds.
func azureWhy(kind string, maintenance bool) string {
	switch {
	case kind == "Preempt":
		return "Azure evicts the spot machine"
	case kind == "Terminate":
		return "Azure deletes the machine"
	case kind == "Reboot" && maintenance:
		return "Azure restarts the machine"
	case kind == "Redeploy" && maintenance:
		return "Azure moves the machine to another host"
	}
	return ""
}
