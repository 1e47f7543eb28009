package root

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// explain prints an error, in red on a terminal, and below it a hint.
func explain(ctx context.Context, a *app.App, err error) {
	if _, ok := errors.AsType[exit.Status](err); ok {
		return
	}
	message, hint := err.Error(), hintFor(a, err)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		message, hint = "Interrupted.", ""
	}
	fmt.Fprintln(a.IO.Err, a.IO.ErrStyle().Red(message))
	if hint != "" {
		fmt.Fprintln(a.IO.Err, hint)
	}
}

func hintFor(a *app.App, err error) string {
	if usage, ok := errors.AsType[*exit.UsageError](err); ok {
		return usage.Hint
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	switch fault.CodeOf(err) {
	case fault.Unauthenticated:
		return signInHint(a)
	case fault.Unavailable:
		if _, ok := errors.AsType[*client.ConnectError](err); ok {
			return connectHint(a)
		}
		if !strings.Contains(err.Error(), "try again") {
			return "Try again in a moment."
		}
	}
	return ""
}

func signInHint(a *app.App) string {
	command := "det user login"
	if a.Master != "" {
		command = "det -m " + a.Master + " user login"
	}
	if a.User != "" {
		command += " " + a.User
	} else {
		command += " <user>"
	}
	return "Sign in with `" + command + "`."
}

// connectHint explains how to start a master to users who named none, and where the address
// came from to users who named one.
func connectHint(a *app.App) string {
	local := "start a local cluster with `det deploy local cluster-up`"
	switch {
	case a.Master != "":
		return "Check the address given with -m, or " + local + "."
	case a.Env("DET_MASTER") != "":
		return "Check the address in DET_MASTER, or " + local + "."
	case a.Env("DET_MASTER_ADDR") != "":
		return "Check the address in DET_MASTER_ADDR, or " + local + "."
	}
	return strings.ToUpper(local[:1]) + local[1:] + ", or name your master with -m or in DET_MASTER."
}
