package accounts

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// sessionLife lets a user stay signed in for a month.
	sessionLife = 30 * 24 * time.Hour
	// clientSalt is what Determined's clients put before a password; the master does the same
	// with a plain-text password.
	clientSalt = "GubPEmmotfiK9TMD6Zdw"
	// dummyHash is the hash of a discarded password. Comparing with it takes as long as
	// comparing with a real one.
	dummyHash = "$argon2id$v=19$m=7168,t=5,p=1$lQB1grc66qudgKPPoJCKIg$3/aD4j2/J4a6geNzPEysYUpCF71CQJH1C5A5EBgiREQ"
	// MaxPassword is well above the 128 digits that clients send.
	MaxPassword = 1024
)

func (d Deps) login(ctx context.Context, c *rest.Call, req *v1.LoginRequest) (*v1.LoginResponse, error) {
	if err := c.NotFromElsewhere(); err != nil {
		return nil, err
	}
	if at, ok := c.Stranger(); ok {
		d.Forwarder(at)
	}
	name := strings.ToLower(strings.TrimSpace(req.Username))
	if name == "" {
		return nil, fault.New(fault.Invalid, "username: the name is missing")
	}
	audit.NoteUser(c, nil, name)
	if len(name) > maxUsername || len(req.Password) > MaxPassword {
		return nil, fault.New(fault.Unauthenticated, "invalid credentials")
	}
	sent := hashedAsClientsDo(req.Password, req.IsHashed != nil && *req.IsHashed)
	if sent == "" && !d.blankAllowed(c) {
		return nil, fault.New(fault.Unauthenticated, "blank passwords are accepted only on the master's own machine, at a loopback address; "+
			"an admin can set a password with det user change-password %s; the first password of admin and determined is initial_password in the Nomad variable of the master's job", name)
	}
	u, err := UserByName(ctx, d.DB, name)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err := d.comparePassword(ctx, c, name, u, err == nil, sent); err != nil {
		return nil, err
	}
	audit.NoteUser(c, &u.ID, name)
	if !u.Active {
		return nil, fault.New(fault.Forbidden, "user is not active: an admin can activate %s with det user activate %s", name, name)
	}
	token, hash := auth.NewToken()
	if err := BeginSession(ctx, c, d.DB, u, hash, sessionLife, PlaceOf(c)); err != nil {
		return nil, err
	}
	c.SetCookie(SessionCookie(c, token, int(sessionLife.Seconds())))
	return &v1.LoginResponse{Token: token, User: WireUser(u)}, nil
}

// BeginSession creates a session, which is the object of the call's entry in the audit trail.
func BeginSession(ctx context.Context, c *rest.Call, db *database.DB, u User, hash []byte, life time.Duration, at Place) error {
	id, err := NewSession(ctx, db, u, hash, life, at)
	if e := audit.Of(c); e != nil && err == nil {
		e.Object = strconv.FormatInt(id, 10)
	}
	return err
}

// SessionCookie is the cookie for a browser; a negative age deletes it.
func SessionCookie(c *rest.Call, token string, age int) *http.Cookie {
	cookie := &http.Cookie{Name: c.SessionCookie(), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.Secure(), MaxAge: age}
	if age < 0 {
		cookie.MaxAge, cookie.Expires = 0, time.Unix(1, 0)
	}
	return cookie
}

// comparePassword fails unless the password is the user's. A blank one is no guess, so it is
// neither compared nor counted.
func (d Deps) comparePassword(ctx context.Context, c *rest.Call, name string, u User, exists bool, sent string) error {
	fits := false
	if sent == "" {
		fits = passwordMatches(u, exists, sent)
	} else {
		address, limit := c.Address(), d.compares
		if exists && auth.IsForeign(u.PasswordHash) {
			limit = d.foreign
		}
		err := limit.compare(ctx, address, func() error {
			if err := d.countLogin(ctx, address, name); err != nil {
				return err
			}
			if fits = passwordMatches(u, exists, sent); !fits {
				return nil
			}
			if auth.IsForeign(u.PasswordHash) {
				if err := replaceForeignHash(ctx, d.DB, u, auth.HashPassword(sent)); err != nil {
					return err
				}
			}
			ofName, ofAddress := loginKeys(address, name)
			return LoginSucceeded(ctx, d.DB, ofName, ofAddress)
		})
		if err != nil {
			return err
		}
	}
	if !fits {
		return fault.New(fault.Unauthenticated, "invalid credentials")
	}
	return nil
}

// passwordMatches does the same work whether or not the user exists and has a password, so that
// the response time reveals nothing.
func passwordMatches(u User, exists bool, sent string) bool {
	if sent == "" {
		return exists && u.PasswordHash == "" && !u.Remote && !u.Service
	}
	if !exists || u.PasswordHash == "" || u.Remote {
		auth.CheckPassword(dummyHash, sent)
		return false
	}
	return auth.CheckPassword(u.PasswordHash, sent)
}

// blankAllowed reports whether a blank password may be used from the address of this call and
// for its host name. A forwarded call comes from another machine than its connection.
func (d Deps) blankAllowed(c *rest.Call) bool {
	return !c.Proxied() && d.BlankLogin(c.RemoteIP().String(), rest.BareHost(c.Host()))
}

// StoredPassword is the stored form of a plain-text password.
func StoredPassword(password string) string {
	return auth.HashPassword(hashedAsClientsDo(password, false))
}

func hashedAsClientsDo(password string, hashed bool) string {
	if hashed || password == "" {
		return password
	}
	sum := sha512.Sum512([]byte(clientSalt + password))
	return hex.EncodeToString(sum[:])
}

func (d Deps) logout(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.Empty, error) {
	if err := EndSession(ctx, d.DB, c.Who().SessionID); err != nil {
		return nil, err
	}
	d.Callers.AccountChanged(c.Who().UserID)
	c.SetCookie(SessionCookie(c, "", -1))
	return &v1.Empty{}, nil
}

func (d Deps) me(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetMeResponse, error) {
	u, err := UserByID(ctx, d.DB, c.Who().UserID)
	return &v1.GetMeResponse{User: WireUser(u)}, err
}

func (d Deps) oldMe(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.OldUser, error) {
	u, err := UserByID(ctx, d.DB, c.Who().UserID)
	return new(oldUser(u)), err
}
