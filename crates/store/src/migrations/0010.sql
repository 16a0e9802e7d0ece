-- Schema 10: approvals may be rejections, and turns have figures.

ALTER TABLE approvals ADD COLUMN rejected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chat_turns ADD COLUMN figures TEXT NOT NULL DEFAULT '{}';
