package fakemaster

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// A handler answers with a message, or with nothing when it has written itself.
type handler func(w http.ResponseWriter, r *http.Request) (any, error)

func (m *Master) routes() {
	m.mux = http.NewServeMux()
	m.public("GET /info", m.info)
	m.public("GET /api/v1/master", m.master)
	m.public("POST /api/v1/auth/login", m.login)
	m.handle("POST /api/v1/auth/logout", m.logout)
	m.handle("GET /api/v1/me", func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return v1.GetMeResponse{User: m.who(r).User}, nil
	})
	m.handle("GET /api/v1/users", m.users)
	m.handle("POST /api/v1/users", m.createUser)
	m.handle("GET /api/v1/users/{name}/by-username", m.userByName)
	m.handle("PATCH /api/v1/users/{id}", m.patchUser)
	m.handle("GET /api/v1/master/config", m.masterConfig)
	m.handle("GET /api/v1/master/logs", m.masterLogs)
	m.experimentRoutes()
	m.trialRoutes()
	m.taskRoutes()
	m.handle("GET /api/v1/agents", func(http.ResponseWriter, *http.Request) (any, error) {
		return v1.GetAgentsResponse{Agents: m.Agents, Pagination: all(len(m.Agents))}, nil
	})
	m.handle("GET /api/v1/resource-pools", func(http.ResponseWriter, *http.Request) (any, error) {
		return v1.GetResourcePoolsResponse{ResourcePools: m.Pools, Pagination: all(len(m.Pools))}, nil
	})
	m.handle("GET /api/v1/job-queues-v2", func(_ http.ResponseWriter, r *http.Request) (any, error) {
		jobs, page := paged(r, m.Jobs)
		return v1.GetJobsV2Response{Jobs: jobs, Pagination: page}, nil
	})
	m.handle("GET /api/v1/workspaces", m.listWorkspaces)
	m.handle("POST /api/v1/workspaces", m.createWorkspace)
	m.handle("GET /api/v1/workspaces/{id}", m.getWorkspace)
	m.handle("GET /api/v1/workspaces/{id}/projects", m.listProjects)
	m.handle("POST /api/v1/workspaces/{id}/projects", m.createProject)
	m.public("/", func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return nil, fault.New(fault.NotFound, "no such path: %s %s", r.Method, r.URL.Path)
	})
}

// public adds a route for anybody.
func (m *Master) public(pattern string, h handler) {
	m.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		msg, err := h(w, r)
		switch {
		case err != nil:
			writeError(w, err)
		case msg != nil:
			send(w, msg)
		}
	})
}

// handle adds one for those who are signed in.
func (m *Master) handle(pattern string, h handler) {
	m.public(pattern, func(w http.ResponseWriter, r *http.Request) (any, error) {
		if m.who(r) == nil {
			return nil, fault.New(fault.Unauthenticated, "unauthenticated")
		}
		return h(w, r)
	})
}

// none is an empty message.
type none struct{}

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
	return struct {
		Version       string `json:"version"`
		DetentVersion string `json:"detent_version"`
		ClusterID     string `json:"cluster_id"`
		ClusterName   string `json:"cluster_name"`
		MasterID      string `json:"master_id"`
	}{"0.38.1", "fake", "11111111-1111-1111-1111-111111111111", "fake", "22222222-2222-2222-2222-222222222222"}, nil
}

func (m *Master) master(http.ResponseWriter, *http.Request) (any, error) {
	return v1.GetMasterResponse{ClusterID: "11111111-1111-1111-1111-111111111111", ClusterName: "fake",
		MasterID: "22222222-2222-2222-2222-222222222222", Version: "0.38.1", UserManagementEnabled: true}, nil
}

func (m *Master) masterConfig(_ http.ResponseWriter, r *http.Request) (any, error) {
	if !m.who(r).Admin {
		return nil, fault.New(fault.Forbidden, "only an admin may do this")
	}
	return struct {
		Config v1.Struct `json:"config"`
	}{v1.Struct(`{"log":{"level":"info"},"port":8080,"db":{"password":"********"}}`)}, nil
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
	return none{}, nil
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
	if !m.who(r).Admin {
		return nil, fault.New(fault.Forbidden, "only an admin may do this")
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
