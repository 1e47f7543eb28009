package diskuse

import (
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoint uses of others.
type Deps struct {
	DB    *database.DB
	Users *Users
}

// Routes adds the list of disk use.
func Routes(r *rest.Router, d Deps) { rest.Serve(r, v1.ListDiskUse, d.list) }
