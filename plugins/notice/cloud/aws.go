package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// AWS says two minutes before that it stops or terminates a spot instance. It recommends to look every five seconds.
const (
	awsPause     = 5 * time.Second
	awsToken     = "/latest/api/token"
	awsAction    = "/latest/meta-data/spot/instance-action"
	awsRebalance = "/latest/meta-data/events/recommendations/rebalance"
	awsTokenTTL  = 6 * time.Hour
	maxToken     = 1 << 10
)

type aws struct {
	service
	options Options
	now     func() time.Time

	token   string // of version 2 of the service
	renewAt time.Time
}

func (a *aws) Name() string { return "AWS" }

func (a *aws) Pause() time.Duration { return awsPause }

func (a *aws) Look(ctx context.Context) (*Notice, error) {
	got, err := a.get(ctx, awsAction)
	if err != nil {
		return nil, err
	}
	notice, err := awsNotice(got, a.now())
	if err != nil || notice != nil || !a.options.Rebalance {
		return notice, err
	}
	if got, err = a.get(ctx, awsRebalance); err != nil {
		return nil, err
	}
	return awsAdvice(got)
}

// get sends a request with a token, and with a new one if the service does not accept the token any more.
func (a *aws) get(ctx context.Context, path string) (answer, error) {
	for again := false; ; again = true {
		if again || a.token == "" || !a.now().Before(a.renewAt) {
			if err := a.renew(ctx); err != nil {
				return answer{}, err
			}
		}
		got, err := a.ask(ctx, request{method: http.MethodGet, path: path, header: map[string]string{"X-aws-ec2-metadata-token": a.token}})
		if err != nil || got.status != http.StatusUnauthorized || again {
			return got, err
		}
	}
}

// renew fetches a token of version 2 of the service; without one it may not answer.
func (a *aws) renew(ctx context.Context) error {
	got, err := a.ask(ctx, request{method: http.MethodPut, path: awsToken,
		header: map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": strconv.Itoa(int(awsTokenTTL.Seconds()))}})
	if err != nil {
		return err
	}
	if got.status != http.StatusOK || !isToken(got.body) {
		a.token = ""
		return fmt.Errorf("%s: it answers %d, and no token of version 2 of the service", awsToken, got.status)
	}
	a.token, a.renewAt = string(got.body), a.now().Add(awsTokenTTL/2)
	return nil
}

// isToken reports whether a text can be in a header.
func isToken(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= maxToken
}

// awsNotice reads the answer about a spot instance: 404 as long as there is no notice.
func awsNotice(a answer, now time.Time) (*Notice, error) {
	switch a.status {
	case http.StatusNotFound:
		return nil, nil //nolint:nilnil // there is no notice
	case http.StatusOK:
	default:
		return nil, unexpected(awsAction, a)
	}
	var said struct {
		Action string `json:"action"`
		Time   string `json:"time"`
	}
	if err := json.Unmarshal(a.body, &said); err != nil {
		return nil, fmt.Errorf("%w: %w", unexpected(awsAction, a), err)
	}
	notice := &Notice{Why: "AWS takes the spot machine back"}
	if at, err := time.Parse(time.RFC3339, said.Time); err == nil {
		notice.At = plausible(at, now)
	}
	switch said.Action {
	case "hibernate", "stop", "terminate":
		notice.Why += " (" + said.Action + ")"
	case "":
		return nil, unexpected(awsAction, a)
	}
	return notice, nil
}

// awsAdvice reads the recommendation to leave a machine: 404 as long as there is none. Its time is when AWS made it.
func awsAdvice(a answer) (*Notice, error) {
	switch a.status {
	case http.StatusNotFound:
		return nil, nil //nolint:nilnil // there is none
	case http.StatusOK:
	default:
		return nil, unexpected(awsRebalance, a)
	}
	var said struct {
		Time string `json:"noticeTime"`
	}
	if err := json.Unmarshal(a.body, &said); err != nil {
		return nil, fmt.Errorf("%w: %w", unexpected(awsRebalance, a), err)
	}
	if said.Time == "" {
		return nil, unexpected(awsRebalance, a)
	}
	return &Notice{Why: "AWS recommends to leave the spot machine"}, nil
}
