package database

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/detent-ml/detent/master/fault"
)

// AsFault turns a database error into a fault. It returns faults unchanged.
func AsFault(err error) error {
	var f *fault.Fault
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Wrap(fault.NotFound, err, "not found")
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &pg):
		return pgFault(pg)
	case Away(err):
		return fault.Wrap(fault.Unavailable, err, "the database does not answer; try again in a moment")
	}
	return err
}

func pgFault(pg *pgconn.PgError) error {
	switch pg.Code[:2] {
	case "08", "57": // connection trouble, operator intervention, shutdown, statement timeout
		return fault.Wrap(fault.Unavailable, pg, "the database does not answer; try again in a moment")
	case "53": // out of disk, memory or connections
		return fault.Wrap(fault.Unavailable, pg, "the database is out of resources: %s", pg.Message)
	case "40": // others changed the same rows, again and again
		return fault.Wrap(fault.Unavailable, pg, "others change the same things at the moment; try again")
	case "25": // the transaction was idle for too long, or the server is a standby
		return fault.Wrap(fault.Unavailable, pg, "the database refused the transaction; try again in a moment")
	}
	switch pg.Code {
	case "23505":
		return fault.Wrap(fault.Conflict, pg, "already exists (%s)", pg.ConstraintName)
	case "23503":
		return fault.Wrap(fault.Invalid, pg, "refers to something that does not exist (%s)", pg.ConstraintName)
	case "22021", "22P05": // NUL bytes and broken UTF-8
		return fault.Wrap(fault.Invalid, pg, "text holds characters that cannot be stored: %s", pg.Message)
	}
	return pg
}

// Away reports whether an error means that there is no connection, or that it broke.
func Away(err error) bool {
	var netErr net.Error
	var connErr *pgconn.ConnectError
	return errors.As(err, &connErr) || errors.As(err, &netErr) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "closed pool")
}

// Missing returns missing in the place of an error that says that nothing was found.
func Missing(err, missing error) error {
	if fault.Is(err, fault.NotFound) {
		return missing
	}
	return err
}

// Taken returns taken in the place of an error that says that a unique value exists already.
func Taken(err, taken error) error {
	if RejectionOf(err).Code == "23505" {
		return taken
	}
	return err
}

// BadData turns PostgreSQL's error about a value that it cannot store into fault.Invalid.
func BadData(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code[:2] == "22" || pg.Code[:2] == "54") {
		return fault.Wrap(fault.Invalid, err, "the value cannot be stored: %s", pg.Message)
	}
	return err
}

// A Rejection is an error with which PostgreSQL answered a statement.
type Rejection struct {
	Code       string // SQLSTATE
	Message    string
	Constraint string // which the statement violated; "" for none
}

// RejectionOf returns PostgreSQL's error in err. Its code is "" if err is no answer of PostgreSQL.
func RejectionOf(err error) Rejection {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return Rejection{}
	}
	return Rejection{Code: pg.Code, Message: pg.Message, Constraint: pg.ConstraintName}
}
