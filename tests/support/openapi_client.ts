// openapi_client.ts - a session's whole life by a client whose types come from api/openapi.yaml (tests/openapi-client)
//
//   node client.js URL TOKEN
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [url, token] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
const stranger = createClient<paths>({ baseUrl: url });

const made = await api.POST("/v1/sessions", { body: { name: "generated", pose_source: "device" } });
assert.equal(made.response.status, 201);
assert(made.data);
const id = made.data.id;
const params = { path: { id } };

const listed = await api.GET("/v1/sessions");
assert(listed.data?.sessions.some((s) => s.id === id && s.name === "generated"));

const one = await api.GET("/v1/sessions/{id}", { params });
assert.equal(one.data?.counts.received, 0);

const wrong = await api.POST("/v1/sessions", { body: { max_points: -1 } });
assert.equal(wrong.response.status, 422);
assert.match(wrong.error?.type ?? "", /invalid/);

const refused = await stranger.GET("/v1/sessions");
assert.equal(refused.response.status, 401);

const models = await api.GET("/v1/models");
assert(models.data?.models.some((m) => m.kind === "depth"));
const devices = await api.GET("/v1/devices");
assert.equal(devices.data?.devices.length, 1);

const gone = await api.DELETE("/v1/sessions/{id}", { params });
assert.equal(gone.response.status, 204);
const missing = await api.GET("/v1/sessions/{id}", { params });
assert.equal(missing.response.status, 404);
