-- Schema 2: each tenant sees its own rows alone.

-- Roles that belong to a tenant: such a role sees no other tenant's rows, whatever it sets. Any other role sees those of
-- the tenant that it names in `threadhold.tenant`.
CREATE TABLE tenant_roles (
    role text PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL
);

CREATE FUNCTION threadhold_tenant() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT coalesce((SELECT r.tenant FROM tenant_roles r WHERE r.role = current_user),
                    current_setting('threadhold.tenant', true))
$$;

ALTER TABLE holders ENABLE ROW LEVEL SECURITY;
ALTER TABLE holders FORCE ROW LEVEL SECURITY;
CREATE POLICY holders_of_tenant ON holders USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE leases FORCE ROW LEVEL SECURITY;
CREATE POLICY leases_of_tenant ON leases USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE segments FORCE ROW LEVEL SECURITY;
CREATE POLICY segments_of_tenant ON segments USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_sessions_of_tenant ON chat_sessions USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_activity FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_activity_of_tenant ON chat_activity USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_messages FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_messages_of_tenant ON chat_messages USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_turns FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_turns_of_tenant ON chat_turns USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE compactions ENABLE ROW LEVEL SECURITY;
ALTER TABLE compactions FORCE ROW LEVEL SECURITY;
CREATE POLICY compactions_of_tenant ON compactions USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE shares ENABLE ROW LEVEL SECURITY;
ALTER TABLE shares FORCE ROW LEVEL SECURITY;
CREATE POLICY shares_of_tenant ON shares USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE compaction_statuses ENABLE ROW LEVEL SECURITY;
ALTER TABLE compaction_statuses FORCE ROW LEVEL SECURITY;
CREATE POLICY compaction_statuses_of_tenant ON compaction_statuses USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE blobs FORCE ROW LEVEL SECURITY;
CREATE POLICY blobs_of_tenant ON blobs USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE blob_refs ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_refs FORCE ROW LEVEL SECURITY;
CREATE POLICY blob_refs_of_tenant ON blob_refs USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_queue FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_queue_of_tenant ON chat_queue USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_keys_of_tenant ON chat_keys USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_drafts ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_drafts FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_drafts_of_tenant ON chat_drafts USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE chat_streamed ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_streamed FORCE ROW LEVEL SECURITY;
CREATE POLICY chat_streamed_of_tenant ON chat_streamed USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE scopes ENABLE ROW LEVEL SECURITY;
ALTER TABLE scopes FORCE ROW LEVEL SECURITY;
CREATE POLICY scopes_of_tenant ON scopes USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE approvals ENABLE ROW LEVEL SECURITY;
ALTER TABLE approvals FORCE ROW LEVEL SECURITY;
CREATE POLICY approvals_of_tenant ON approvals USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CREATE POLICY memories_of_tenant ON memories USING (tenant = (SELECT threadhold_tenant()));
