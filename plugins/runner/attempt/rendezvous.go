//go:build linux

package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

// gather waits until every member has started. An attempt with one member does not wait.
func gather(ctx context.Context, p *NomadTask, spec *v1.TaskSpec, list *masters.List, token string, journal *logs.Journal) (v1.MemberRendezvousResponse, error) {
	if spec.Members <= 1 {
		slots := spec.Slots
		if len(spec.SlotIDs) > 0 {
			slots = len(spec.SlotIDs)
		}
		address := p.Address
		if p.Env["DET_NETWORK"] != "" { // the node's address is not in this network
			address = "127.0.0.1"
		}
		return v1.MemberRendezvousResponse{
			Ready: true, Addresses: []string{address}, Slots: []int{slots}, Ports: []map[string]int{p.Ports},
		}, nil
	}
	journal.Infof("waiting for the other members of this attempt (%d in total)", spec.Members)
	told := time.Now()
	for {
		var out v1.MemberRendezvousResponse
		asked := time.Now()
		err := list.Call(ctx, masters.Request{Method: v1.MemberRendezvous.Method, Path: v1.MemberRendezvous.At(spec.AllocationID, spec.Rank), Token: token},
			&out, masters.Policy{Replay: true, Hold: forever, Patience: 2 * time.Minute})
		var refusal *masters.Refusal
		switch {
		case err == nil && out.Ready:
			return out, whole(out, spec)
		case err == nil:
			if time.Since(told) > time.Minute {
				journal.Infof("still waiting for %s", out.Waiting)
				told = time.Now()
			}
			if err := sleep.For(ctx, minPoll-time.Since(asked)); err != nil {
				return out, err
			}
		case errors.As(err, &refusal) && refusal.Status < 500 && refusal.Ours:
			return out, fmt.Errorf("the master ended the rendezvous: %w", err)
		case ctx.Err() != nil:
			return out, err
		default:
			if err := sleep.For(ctx, unknownPause); err != nil {
				return out, err
			}
		}
	}
}

// whole rejects an answer with which ranks would disagree.
func whole(r v1.MemberRendezvousResponse, spec *v1.TaskSpec) error {
	if len(r.Addresses) != spec.Members || len(r.Slots) != spec.Members {
		return fmt.Errorf("the rendezvous named %d addresses and %d slot counts for %d members", len(r.Addresses), len(r.Slots), spec.Members)
	}
	if spec.Rank >= spec.Members {
		return fmt.Errorf("this member has rank %d, but the attempt has only %d members", spec.Rank, spec.Members)
	}
	return nil
}

// settle writes the addresses of the members for the program.
func settle(l layout, spec *v1.TaskSpec, r v1.MemberRendezvousResponse, env map[string]string) error {
	content, err := json.Marshal(map[string]any{
		"container_addrs":       r.Addresses,
		"container_rank":        spec.Rank,
		"container_slot_counts": r.Slots,
	})
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(l.physical, "info", "rendezvous.json"), content, 0o644); err != nil {
		return err
	}
	env["DET_CHIEF_IP"] = r.Addresses[0]
	if len(r.Ports) > 0 {
		for label, port := range r.Ports[0] {
			if name := portVariable(label); name != "" {
				env[name] = strconv.Itoa(port)
			}
		}
	}
	return nil
}

// portVariable is the variable in which launchers expect a port of the chief. A label is the
// variable's name in lower case, with or without "_port"; two names are too long for a label.
func portVariable(label string) string {
	switch label {
	case healthPort:
		return ""
	case "comm1", "comm_1":
		return "INTER_TRAIN_PROCESS_COMM_PORT_1"
	case "comm2", "comm_2":
		return "INTER_TRAIN_PROCESS_COMM_PORT_2"
	}
	name := strings.ToUpper(strings.ReplaceAll(label, "-", "_"))
	if strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_") {
		return name
	}
	return name + "_PORT"
}
