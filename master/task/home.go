package task

import (
	"path"
	"strconv"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// homeMount is the path at which notebooks and shells see the folder of their owner.
const homeMount = "/determined_home"

// home returns the owner's folder on the nodes for notebooks and shells; "" for none. Its name is the
// number of the user, because the name of a user can change and later belong to another user.
func (a *Attempt) home(of *pool.Pool) string {
	if of.Homes == "" || a.OwnerID <= 0 || a.Type != Notebook && a.Type != Shell {
		return ""
	}
	return path.Join(of.Homes, strconv.Itoa(a.OwnerID))
}

// homeMounts mounts the owner's folder in a container, and no other user's.
func (a *Attempt) homeMounts(of *pool.Pool) []jobspecs.Mount {
	if dir := a.home(of); dir != "" {
		return []jobspecs.Mount{{Source: dir, Target: homeMount, Create: true}}
	}
	return nil
}

// home makes a notebook or shell begin in the folder of its owner.
func (b *specBuilder) home() {
	dir := b.a.home(b.pool)
	if dir == "" {
		return
	}
	b.spec.Home = homeMount
	if _, own := b.spec.Env["HOME"]; !own {
		b.spec.Env["HOME"] = homeMount
	}
	if !b.pool.HasImages() {
		b.spec.BindMounts = append(b.spec.BindMounts, v1.BindMount{HostPath: dir, ContainerPath: homeMount, Create: true})
	}
}
