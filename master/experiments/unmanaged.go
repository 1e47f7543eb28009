package experiments

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxExternalID is the maximum length of external ids in bytes.
const maxExternalID = 512

// onTrialByExternalID loads the trial that the path names.
func onTrialByExternalID(db *database.DB) rest.Object[Trial] {
	return rest.Object[Trial]{Of: Trial.Object, Large: true, Load: func(ctx context.Context, c *rest.Call) (t Trial, err error) {
		experiment, err := ExternalID(c, "experiment")
		if err != nil {
			return t, err
		}
		external, err := ExternalID(c, "trial")
		if err != nil {
			return t, err
		}
		t, err = TrialByExternalID(ctx, db, experiment, external)
		if err == nil && !auth.Sees(c.Who(), t.Object()) {
			_ = c.May(auth.View, t.Object()) // the audit trail records the refusal, whose text has the trial's number
			return Trial{}, NoExternalTrial(external)
		}
		return t, err
	}}
}

// ExternalID parses an external id in the path.
func ExternalID(c *rest.Call, param string) (string, error) {
	id, err := url.PathUnescape(c.Param(param))
	if err != nil {
		return "", fault.New(fault.Invalid, "the external id in the path is not written as in a URL: %v", err)
	}
	return id, checkExternal("the external id in the path", id)
}

func checkExternal(where, id string) error {
	switch {
	case id == "":
		return fault.New(fault.Invalid, "%s is empty", where)
	case len(id) > maxExternalID:
		return fault.New(fault.Invalid, "%s: %d bytes are over the limit of %d", where, len(id), maxExternalID)
	}
	return nil
}

func (d Deps) createTrial(ctx context.Context, c *rest.Call, req *v1.CreateTrialRequest) (*v1.CreateTrialResponse, error) {
	t, err := d.newTrial(ctx, c, req, nil)
	return &v1.CreateTrialResponse{Trial: t}, err
}

func (d Deps) putTrial(ctx context.Context, c *rest.Call, req *v1.PutTrialRequest) (*v1.PutTrialResponse, error) {
	if req.CreateTrialRequest == nil {
		return nil, fault.New(fault.Invalid, "createTrialRequest: is required")
	}
	if err := checkExternal("externalTrialId", req.ExternalTrialID); err != nil {
		return nil, err
	}
	t, err := d.newTrial(ctx, c, req.CreateTrialRequest, &req.ExternalTrialID)
	return &v1.PutTrialResponse{Trial: t}, err
}

func (d Deps) newTrial(ctx context.Context, c *rest.Call, req *v1.CreateTrialRequest, external *string) (v1.Trial, error) {
	e, err := GetHead(ctx, d.DB, req.ExperimentID)
	if err != nil {
		return v1.Trial{}, err
	}
	if err := OnHead(d.DB).Allow(c, auth.Change, e); err != nil {
		return v1.Trial{}, err
	}
	if !optional.Value(req.Unmanaged) {
		return v1.Trial{}, fault.New(fault.Invalid, "unmanaged: must be true: searches create all other trials")
	}
	hparams := json.RawMessage(req.HParams)
	if len(hparams) == 0 || string(hparams) == "null" {
		hparams = json.RawMessage("{}")
	}
	n := NewUnmanagedTrial{ExperimentID: e.ID, ExternalID: external, HParams: hparams}
	if err := d.admitTrial(ctx, n); err != nil {
		return v1.Trial{}, err
	}
	id, err := CreateUnmanagedTrial(ctx, d.DB, n)
	if err != nil {
		return v1.Trial{}, err
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	return d.shownTrial(ctx, c.Who(), id)
}

// admitTrial fails if the trial is new and the owner of its experiment stores too much.
func (d Deps) admitTrial(ctx context.Context, n NewUnmanagedTrial) error {
	owner, err := ownerOfNew(ctx, d.DB, n)
	if err != nil || owner == 0 {
		return err
	}
	return d.Users.Admit(ctx, owner, 0)
}

// shownTrial is a trial in the form of the API.
func (d Deps) shownTrial(ctx context.Context, who auth.Who, id int) (v1.Trial, error) {
	t, err := GetTrial(ctx, d.DB, id)
	if err != nil {
		return v1.Trial{}, err
	}
	list, err := d.wireTrials(ctx, who, []Trial{t})
	if err != nil {
		return v1.Trial{}, err
	}
	return list[0], nil
}

func (d Deps) startTrial(ctx context.Context, _ *rest.Call, t Trial, req *v1.StartTrialRequest) (*v1.StartTrialResponse, error) {
	if err := sameTrial(req.TrialID, t.ID); err != nil {
		return nil, err
	}
	s, err := StartUnmanagedTrial(ctx, d.DB, t.ID, optional.Value(req.Resume))
	if err != nil {
		return nil, err
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	return &v1.StartTrialResponse{TrialRunID: s.RunID, StepsCompleted: s.Steps, LatestCheckpoint: s.Checkpoint}, nil
}

func sameTrial(body, path int) error {
	if body != 0 && body != path {
		return fault.New(fault.Invalid, "trialId: the path has %d, the body %d", path, body)
	}
	return nil
}

// patchTrial accepts a sign of life, and the state that the trial's program reports.
func (d Deps) patchTrial(ctx context.Context, c *rest.Call, t Trial, req *v1.PatchTrialRequest) (*v1.PatchTrialResponse, error) {
	if err := sameTrial(req.TrialID, t.ID); err != nil {
		return nil, err
	}
	state := strings.TrimPrefix(string(optional.Value(req.State)), "STATE_")
	switch state {
	case "", "ACTIVE", "COMPLETED", "CANCELED", "ERROR":
	case "RUNNING":
		state = "ACTIVE"
	default:
		return nil, fault.New(fault.Invalid, "state: %q is not one of STATE_RUNNING, STATE_COMPLETED, STATE_CANCELED, STATE_ERROR", fault.Clip(string(*req.State)))
	}
	if err := ReportUnmanagedTrial(ctx, d.DB, t.ID, state); err != nil {
		return nil, err
	}
	shown, err := d.shownTrial(ctx, c.Who(), t.ID)
	if err != nil {
		return nil, err
	}
	if shown.SearcherMetricValue != nil {
		err = NoteUnmanagedBest(ctx, d.DB, t.ID, *shown.SearcherMetricValue)
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	return &v1.PatchTrialResponse{Trial: shown}, err
}

// UnmanagedCheckpoint finds the task and the run in whose name a user's session reports a checkpoint, which only programs
// of unmanaged trials may do.
func (d Deps) UnmanagedCheckpoint(ctx context.Context, c *rest.Call, k *v1.Checkpoint) (task string, run int, err error) {
	t, run, err := UnmanagedRunOf(ctx, d.DB, k.TaskID)
	if fault.Is(err, fault.NotFound) {
		return "", 0, fault.New(fault.Forbidden, "only the attempt that made a checkpoint may report it")
	}
	if err != nil {
		return "", 0, err
	}
	if err := OnTrial(d.DB).Allow(c, auth.Report, t); err != nil {
		return "", 0, err
	}
	if err := d.Users.AdmitOutside(ctx, c, t.OwnerID, len(k.Metadata)); err != nil {
		return "", 0, err
	}
	return t.TaskID, run, d.Heard.From(ctx, c, t.TaskID)
}
