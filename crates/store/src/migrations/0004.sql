-- What a process that follows a session asks first: whether anything was committed since, and whether anything but rows
-- at the end. In a row that most commits write anyway.
ALTER TABLE chat_activity ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chat_activity ADD COLUMN rewrites INTEGER NOT NULL DEFAULT 0;
