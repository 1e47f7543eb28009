package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An Attempt is a running attempt, with what its runner received at the claim. Its methods send
// the reports of programs and their runners; a report that the master rejects fails the test.
type Attempt struct {
	v1.TaskSpec
	ID      string
	TrialID int // 0: not a trial
	Run     int // the attempt's number, from 1

	m       *Master
	master  *client.Client
	token   string
	shipper string
	shipped int64 // lines
	matches []v1.LogMatch
}

// claim claims the attempt.
func claim(ctx context.Context, m *Master, id string) (*Attempt, error) {
	at, err := client.New(client.Options{Master: m.address})
	if err != nil {
		return nil, err
	}
	defer at.Close()
	identity := m.Nomad.JWT(id, 0)
	var answer v1.ClaimResponse
	err = send(ctx, at, v1.ClaimAllocation.At(id), v1.ClaimRequest{Identity: identity, Nonce: "of the only process of " + id,
		NodeName: "node-1", Address: "127.0.0.1"}, &answer)
	if err != nil {
		return nil, err
	}
	a := &Attempt{TaskSpec: answer.Spec, ID: id, m: m, token: answer.Token, shipper: strings.TrimPrefix(identity, "identity-of:") + "/0"}
	a.TrialID, _ = strconv.Atoi(a.Env["DET_TRIAL_ID"])
	if a.Run, err = strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:]); err != nil {
		return nil, err
	}
	a.master, err = client.New(client.Options{Master: m.address, TaskToken: answer.Token})
	return a, err
}

// send posts a message, and decodes the response unless answer is nil.
func send(ctx context.Context, c *client.Client, path string, message, answer any) error {
	body, err := v1.Marshal(message)
	if err != nil {
		return err
	}
	raw, err := c.Raw(ctx, http.MethodPost, path, body)
	if err != nil || answer == nil {
		return err
	}
	return v1.Unmarshal(raw, answer)
}

// report makes a call that the master must accept while the attempt runs.
func (a *Attempt) report(ctx context.Context, path string, message any) {
	if err := send(ctx, a.master, path, message, nil); err != nil && ctx.Err() == nil {
		a.m.t.Errorf("attempt %s: POST %s: %v", a.ID, path, err)
	}
}

// Token is the token with which the attempt's program calls the master.
func (a *Attempt) Token() string { return a.token }

// exit sends the runner's last report.
func (a *Attempt) exit(ctx context.Context, code int) error {
	a.ship(ctx, nil, true)
	err := send(ctx, a.master, v1.ReportMemberExit.At(a.ID, 0), v1.MemberExitRequest{ExitCode: code, LogsDone: true, LogMatches: a.matches}, nil)
	a.m.Nomad.End(a.ID, 0, code)
	return err
}

// Log sends log lines, and reports matches of the trial's log policies.
func (a *Attempt) Log(ctx context.Context, lines ...string) {
	rank, batch := 0, []v1.LogLine{}
	for _, text := range lines {
		batch = append(batch, v1.LogLine{Timestamp: time.Now(), Log: text, Stdtype: "stdout", RankID: &rank, Level: v1.LogLevelInfo, Source: "task"})
		for _, p := range a.LogPatterns {
			if regexp.MustCompile(p.Pattern).MatchString(text) {
				a.matches = append(a.matches, v1.LogMatch{Policy: p.Policy, Line: text})
			}
		}
	}
	a.ship(ctx, batch, false)
}

// Crash logs what a runner says when its program has failed.
func (a *Attempt) Crash(ctx context.Context, text string) {
	a.ship(ctx, []v1.LogLine{{Timestamp: time.Now(), Log: text, Stdtype: "stderr", Level: v1.LogLevelError, Source: "runner"}}, false)
}

func (a *Attempt) ship(ctx context.Context, batch []v1.LogLine, done bool) {
	a.report(ctx, v1.ShipLogs.At(), v1.LogBatch{AllocationID: a.ID, TaskID: a.TaskID, Shipper: a.shipper, First: a.shipped, Lines: batch, Done: done})
	a.shipped += int64(len(batch))
}

// Ready reports that the program is ready.
func (a *Attempt) Ready(ctx context.Context) { a.report(ctx, v1.ReportReady.At(a.ID), v1.None{}) }

// Metrics reports metrics of a group: training, validation or any other.
func (a *Attempt) Metrics(ctx context.Context, group string, steps int, metrics map[string]float64) {
	a.report(ctx, v1.ReportMetrics.At(a.TrialID), v1.ReportTrialMetricsRequest{Group: group, Metrics: v1.TrialMetrics{
		TrialID: a.TrialID, TrialRunID: a.Run, StepsCompleted: &steps, Metrics: v1.Metrics{AvgMetrics: v1.StructOf(metrics)}}})
}

// Checkpoint stores files in the cluster's storage, and reports them. The name of a folder ends
// in a slash.
func (a *Attempt) Checkpoint(ctx context.Context, uuid string, steps int, at time.Time, files map[string]string) {
	sizes := map[string]int64{}
	for name, content := range files {
		sizes[name] = int64(len(content))
		path := filepath.Join(a.m.Storage, uuid, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			a.m.t.Error(err)
		}
	}
	a.report(ctx, v1.ReportCheckpoint.At(), v1.Checkpoint{UUID: uuid, TaskID: a.TaskID, AllocationID: a.ID, State: v1.CheckpointStateCompleted, ReportTime: &at,
		Metadata: v1.StructOf(map[string]int{"steps_completed": steps}), Resources: sizes})
}

// Freed reports which files of a checkpoint were removed.
func (a *Attempt) Freed(ctx context.Context, freed v1.FreedRequest) {
	a.report(ctx, v1.ReportFreed.At(a.TaskID), freed)
}

// HParam returns a hyperparameter that is a number; 0 if the trial has none of that name.
func (a *Attempt) HParam(name string) (number float64) {
	var all map[string]any
	if a.TrialID == 0 {
		return 0
	}
	if err := json.Unmarshal([]byte(a.Env["DET_HPARAMS"]), &all); err != nil {
		a.m.t.Error(fmt.Errorf("hyperparameters of attempt %s: %w", a.ID, err))
	}
	number, _ = all[name].(float64)
	return number
}

// Master is the master of the attempt.
func (a *Attempt) Master() *Master { return a.m }
