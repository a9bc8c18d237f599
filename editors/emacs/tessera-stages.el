;;; tessera-stages.el --- Stages of lowering beside the source  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "26.1") (eglot "1.8"))
;; Keywords: languages

;;; Commentary:

;; `tessera-show-stage' shows the Graph, Schedule, Tile, Target or code of the function at point, as the language
;; server gives it.  In that buffer RET goes to the source of a line, whose line is marked while point is there.

;;; Code:

(declare-function eglot-current-server "eglot")
(declare-function eglot--TextDocumentIdentifier "eglot")
(declare-function eglot--uri-to-path "eglot")
(declare-function eglot--signal-textDocument/didChange "eglot")
(declare-function jsonrpc-request "jsonrpc")

(defconst tessera-stages
  '(("Graph" . "tessera.showGraph") ("Schedule" . "tessera.showSchedule") ("Tile" . "tessera.showTile")
    ("Target" . "tessera.showTarget") ("Code" . "tessera.showCode"))
  "Stages with the commands of their lenses.")

(defface tessera-stages-source '((t :inherit highlight))
  "The line of the source that the line at point of a stage is of."
  :group 'tessera)

(defvar-local tessera-stages--mark nil "The overlay on the source.")

(defun tessera-stages--place ()
  "The place (PATH . LINE) that the line at point is of, nil for none."
  (let ((place (get-text-property (line-beginning-position) 'tessera-place)))
    (and place (cons (eglot--uri-to-path (plist-get place :uri)) (plist-get place :line)))))

(defun tessera-stages--unmark ()
  "Mark no line of a source."
  (when tessera-stages--mark (delete-overlay tessera-stages--mark))
  (setq tessera-stages--mark nil))

(defun tessera-stages--follow ()
  "Mark the line of the source that the line at point is of."
  (tessera-stages--unmark)
  (let* ((place (tessera-stages--place))
         (source (and place (find-buffer-visiting (car place)))))
    (when source
      (setq tessera-stages--mark
            (with-current-buffer source
              (save-excursion
                (goto-char (point-min))
                (forward-line (cdr place))
                (let ((mark (make-overlay (point) (line-beginning-position 2)))
                      (window (get-buffer-window source)))
                  (when window (set-window-point window (point)))
                  (overlay-put mark 'face 'tessera-stages-source)
                  mark)))))))

(defun tessera-stages-visit ()
  "Go to the source of the line at point."
  (interactive)
  (let ((place (or (tessera-stages--place) (user-error "This line is of no line of a source"))))
    (find-file-other-window (car place))
    (goto-char (point-min))
    (forward-line (cdr place))))

(defvar tessera-stages-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'tessera-stages-visit)
    map))

(define-derived-mode tessera-stages-mode special-mode "Tessera-Stage"
  "A stage of lowering."
  (setq truncate-lines t)
  (add-hook 'post-command-hook #'tessera-stages--follow nil t)
  (add-hook 'kill-buffer-hook #'tessera-stages--unmark nil t))

(defun tessera-stages--fill (text lines)
  "Put TEXT into the buffer, whose LINES have places in sources."
  (let ((inhibit-read-only t))
    (erase-buffer)
    (insert text)
    (goto-char (point-min))
    (mapc (lambda (place)
            (put-text-property (line-beginning-position) (min (point-max) (line-beginning-position 2))
                               'tessera-place place)
            (forward-line))
          lines)
    (goto-char (point-min))))

;;;###autoload
(defun tessera-show-stage (stage)
  "Show STAGE, one of `tessera-stages', of the function at point beside the source."
  (interactive (list (completing-read "Stage: " (mapcar #'car tessera-stages) nil t)))
  (let* ((server (or (and (fboundp 'eglot-current-server) (eglot-current-server))
                     (user-error "Eglot does not look after this buffer")))
         (position (list :line (1- (line-number-at-pos nil t)) :character 0))
         (argument (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri) :position position
                         :stage (cdr (assoc stage tessera-stages))))
         (result (progn
                   (eglot--signal-textDocument/didChange)
                   (jsonrpc-request server :workspace/executeCommand
                                    (list :command "tessera.lower" :arguments (vector argument)) :timeout 60)))
         (name (format "*%s %s %s*" (plist-get result :function) stage (plist-get result :target))))
    (with-current-buffer (get-buffer-create name)
      (unless (derived-mode-p 'tessera-stages-mode) (tessera-stages-mode))
      (tessera-stages--fill (plist-get result :text) (plist-get result :lines))
      (display-buffer (current-buffer) '(nil (inhibit-same-window . t)))
      (current-buffer))))

(provide 'tessera-stages)
;;; tessera-stages.el ends here
