package fakemaster

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/v1/v1test"
)

// handler is the code of an endpoint.
type handler = v1test.Handler

func (m *Master) routes() {
	m.mux = http.NewServeMux()
	on(m, v1.GetInfo, m.info)
	on(m, v1.GetMaster, m.master)
	on(m, v1.Login, m.login)
	on(m, v1.Logout, m.logout)
	on(m, v1.GetMe, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return v1.GetMeResponse{User: m.who(r).User}, nil
	})
	on(m, v1.ListUsers, m.users)
	on(m, v1.CreateUser, m.createUser)
	on(m, v1.GetUserByName, m.userByName)
	on(m, v1.ChangeUser, m.patchUser)
	on(m, v1.GetMasterConfig, m.masterConfig)
	on(m, v1.StreamMasterLogs, m.masterLogs)
	m.experimentRoutes()
	m.trialRoutes()
	m.taskRoutes()
	on(m, v1.ListAgents, func(http.ResponseWriter, *http.Request) (any, error) {
		return v1.GetAgentsResponse{Agents: m.Agents, Pagination: all(len(m.Agents))}, nil
	})
	on(m, v1.ListPools, func(http.ResponseWriter, *http.Request) (any, error) {
		return v1.GetResourcePoolsResponse{ResourcePools: m.Pools, Pagination: all(len(m.Pools))}, nil
	})
	on(m, v1.ListJobs, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		jobs, page := paged(r, m.Jobs)
		return v1.GetJobsV2Response{Jobs: jobs, Pagination: page}, nil
	})
	on(m, v1.ListWorkspaces, m.listWorkspaces)
	on(m, v1.CreateWorkspace, m.createWorkspace)
	on(m, v1.GetWorkspace, m.getWorkspace)
	on(m, v1.ListProjects, m.listProjects)
	on(m, v1.CreateProject, m.createProject)
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, fault.New(fault.NotFound, "no such path: %s %s", r.Method, r.URL.Path))
	})
}

// on has an endpoint of the table answered by h, for whom the table allows it.
func on[Req, Resp any](m *Master, e v1.Endpoint[Req, Resp], h handler) { m.serve(e.Line(), h) }

func (m *Master) serve(l v1.Line, h handler) {
	m.mux.HandleFunc(v1test.Pattern(l), func(w http.ResponseWriter, r *http.Request) {
		if err := m.allow(l, r); err != nil {
			writeError(w, err)
			return
		}
		message, err := h(w, r)
		if err == nil {
			err = v1test.Check(l, message)
		}
		switch {
		case err != nil:
			writeError(w, err)
		case message != nil:
			send(w, message)
		}
	})
}

// allow turns away whoever the table does not name.
func (m *Master) allow(l v1.Line, r *http.Request) error {
	who := m.who(r)
	switch {
	case l.Access == v1.Public:
		return nil
	case who == nil:
		return fault.New(fault.Unauthenticated, "unauthenticated")
	case l.Access == v1.ByAdmins && !who.Admin:
		return fault.New(fault.Forbidden, "only an admin may do this")
	}
	return nil
}

func all(n int) *v1.Pagination { return &v1.Pagination{EndIndex: n, Total: n} }

// paged cuts a page out of a list.
func paged[T any](r *http.Request, items []T) ([]T, v1.Pagination) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	offset = min(max(offset, 0), len(items))
	end := len(items)
	if limit > 0 {
		end = min(end, offset+limit)
	}
	return items[offset:end], v1.Pagination{Limit: limit, Offset: offset, StartIndex: offset, EndIndex: end, Total: len(items)}
}

func pathID(r *http.Request) int {
	n, _ := strconv.Atoi(r.PathValue("id"))
	return n
}

func (m *Master) info(http.ResponseWriter, *http.Request) (any, error) {
	return v1.Info{Version: "0.38.1", DetentVersion: "fake", ClusterID: "11111111-1111-1111-1111-111111111111", ClusterName: "fake",
		MasterID: "22222222-2222-2222-2222-222222222222"}, nil
}

func (m *Master) master(http.ResponseWriter, *http.Request) (any, error) {
	return v1.GetMasterResponse{ClusterID: "11111111-1111-1111-1111-111111111111", ClusterName: "fake",
		MasterID: "22222222-2222-2222-2222-222222222222", Version: "0.38.1", UserManagementEnabled: true}, nil
}

func (m *Master) masterConfig(http.ResponseWriter, *http.Request) (any, error) {
	return v1.GetMasterConfigResponse{Config: v1.Struct(`{"log":{"level":"info"},"port":8080,"db":{"password":"********"}}`)}, nil
}

func (m *Master) masterLogs(w http.ResponseWriter, r *http.Request) (any, error) {
	var lines []v1.MasterLogsResponse
	for i := range 3 {
		lines = append(lines, v1.MasterLogsResponse{LogEntry: v1.LogEntry{ID: i + 1, Timestamp: m.Now, Level: v1.LogLevelInfo,
			Message: "line " + strconv.Itoa(i+1) + "\n"}})
	}
	if offset, _ := strconv.Atoi(r.URL.Query().Get("offset")); offset < 0 {
		lines = lines[max(0, len(lines)+offset):]
	}
	stream(w, lines)
	return nil, nil
}

func (m *Master) login(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.LoginRequest](r)
	if err != nil {
		return nil, err
	}
	u := m.user(req.Username)
	if u == nil || u.Hash != req.Password || !u.Active {
		return nil, fault.New(fault.Unauthenticated, "invalid credentials")
	}
	return v1.LoginResponse{Token: m.signIn(u), User: u.User}, nil
}

func (m *Master) logout(_ http.ResponseWriter, r *http.Request) (any, error) {
	delete(m.Tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	return v1.Empty{}, nil
}

func (m *Master) users(_ http.ResponseWriter, r *http.Request) (any, error) {
	var users []v1.User
	for _, u := range m.Users {
		if a := r.URL.Query().Get("active"); a == "" || a == strconv.FormatBool(u.Active) {
			users = append(users, u.User)
		}
	}
	users, page := paged(r, users)
	return v1.GetUsersResponse{Users: users, Pagination: &page}, nil
}

func (m *Master) createUser(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.PostUserRequest](r)
	if err != nil {
		return nil, err
	}
	if m.user(req.User.Username) != nil {
		return nil, fault.New(fault.Conflict, "user already exists")
	}
	u := &User{User: *req.User}
	u.ID = len(m.Users) + 1
	if req.Password != nil {
		u.Hash = *req.Password
	}
	m.Users = append(m.Users, u)
	return v1.PostUserResponse{User: &u.User}, nil
}

func (m *Master) userByName(_ http.ResponseWriter, r *http.Request) (any, error) {
	u := m.user(r.PathValue("name"))
	if u == nil {
		return nil, fault.New(fault.NotFound, "user %q not found", r.PathValue("name"))
	}
	return v1.GetUserByUsernameResponse{User: u.User}, nil
}

func (m *Master) patchUser(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.PatchUser](r)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Users, func(u *User) bool { return u.ID == pathID(r) })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "user not found")
	}
	u := m.Users[i]
	set(&u.Active, req.Active)
	set(&u.Admin, req.Admin)
	set(&u.Remote, req.Remote)
	set(&u.DisplayName, req.DisplayName)
	set(&u.Hash, req.Password)
	if req.Username != nil {
		for token, name := range m.Tokens {
			if name == u.Username {
				m.Tokens[token] = *req.Username
			}
		}
	}
	set(&u.Username, req.Username)
	return v1.PatchUserResponse{User: u.User}, nil
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

func (m *Master) listWorkspaces(_ http.ResponseWriter, r *http.Request) (any, error) {
	name := r.URL.Query().Get("nameCaseSensitive")
	var found []v1.Workspace
	for _, w := range m.Workspaces {
		if name == "" || w.Name == name {
			found = append(found, w)
		}
	}
	found, page := paged(r, found)
	return v1.GetWorkspacesResponse{Workspaces: found, Pagination: page}, nil
}

func (m *Master) getWorkspace(_ http.ResponseWriter, r *http.Request) (any, error) {
	for _, w := range m.Workspaces {
		if w.ID == pathID(r) {
			return v1.GetWorkspaceResponse{Workspace: w}, nil
		}
	}
	return nil, fault.New(fault.NotFound, "workspace not found")
}

func (m *Master) createWorkspace(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.PostWorkspaceRequest](r)
	if err != nil {
		return nil, err
	}
	for _, w := range m.Workspaces {
		if w.Name == req.Name {
			return nil, fault.New(fault.Conflict, "workspace %q exists already", req.Name)
		}
	}
	w := v1.Workspace{ID: len(m.Workspaces) + 1, Name: req.Name, Username: m.who(r).Username, UserID: m.who(r).ID,
		CheckpointStorageConfig: req.CheckpointStorageConfig, State: v1.WorkspaceStateUnspecified}
	set(&w.DefaultComputePool, req.DefaultComputePool)
	set(&w.DefaultAuxPool, req.DefaultAuxPool)
	m.Workspaces = append(m.Workspaces, w)
	return v1.PostWorkspaceResponse{Workspace: w}, nil
}

func (m *Master) listProjects(_ http.ResponseWriter, r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	var found []v1.Project
	for _, p := range m.Projects {
		if p.WorkspaceID == pathID(r) && (name == "" || p.Name == name) {
			found = append(found, p)
		}
	}
	found, page := paged(r, found)
	return v1.GetWorkspaceProjectsResponse{Projects: found, Pagination: page}, nil
}

func (m *Master) createProject(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.PostProjectRequest](r)
	if err != nil {
		return nil, err
	}
	p := v1.Project{ID: len(m.Projects) + 1, Name: req.Name, WorkspaceID: pathID(r), Username: m.who(r).Username,
		State: v1.WorkspaceStateUnspecified, Key: "P" + strconv.Itoa(len(m.Projects)+1)}
	set(&p.Description, req.Description)
	set(&p.Key, req.Key)
	m.Projects = append(m.Projects, p)
	return v1.PostProjectResponse{Project: p}, nil
}
